/**
 * A timeline of the events of one step, on a canvas: a lane for each phase, in which the row of an
 * event is the depth of its layer. A call of a module with hooks before and after its forward is a
 * span. One event is one unit wide: the axis is the order, not the time.
 */

import { el } from "../frame/dom.js";
import { color } from "../frame/theme.js";

const GUTTER = 84;
const ROW = 13;
const GAP = 14;
const DEEPEST = 11;
const NARROWEST = 8;

/** Return the rows of events by step: [[step, rows], …], in the order in which steps began. */
export function eventsByStep(events) {
  const steps = new Map();
  for (let row = 0; row < events.count; row += 1) {
    const step = events.step[row];
    if (!steps.has(step)) steps.set(step, []);
    steps.get(step).push(row);
  }
  return [...steps];
}

/** Return the depth of each layer's row: the number of its callers. */
export function depthsOf(layers) {
  const depths = new Int32Array(layers.count);
  for (let row = 0; row < layers.count; row += 1) {
    const parent = layers.parent[row];
    depths[row] = parent < 0 || parent >= row ? 0 : depths[parent] + 1;
  }
  return depths;
}

/** Return the events of a step as bars: {from, to, row, depth, layer, lane}, and its lanes. */
export function arrange(record, rows, depths) {
  const { events } = record;
  const lanes = [];
  const bars = [];
  const open = new Map();
  rows.forEach((row, index) => {
    const phase = events.phase.get(row);
    let lane = lanes.find((known) => known.phase === phase);
    if (!lane) {
      lane = { phase, depth: 0 };
      lanes.push(lane);
    }
    const layer = events.layer[row];
    const depth = layer < 0 ? 0 : Math.min(depths[layer], DEEPEST);
    lane.depth = Math.max(lane.depth, depth);
    const moment = events.kinds[events.kind.get(row)]?.moment;
    const key = `${layer} ${events.kind.get(row).startsWith("global")}`;
    if (moment === "after forward" && open.has(key)) {
      open.get(key).to = index + 1;
      open.delete(key);
      return;
    }
    const bar = { from: index, to: index + 1, row, depth, layer, lane };
    if (moment === "before forward") open.set(key, bar);
    bars.push(bar);
  });
  return { lanes, bars };
}

/** A timeline on a canvas. `choose(row)` is called with the event that a person clicks at. */
export class Timeline {
  constructor(choose) {
    this.choose = choose;
    this.canvas = el("canvas", {
      class: "timeline-canvas", tabindex: "0", role: "img",
      onpointerdown: (event) => this.grab(event), onpointermove: (event) => this.move(event),
      onpointerup: (event) => this.release(event), onpointerleave: () => this.hover(null),
      onpointercancel: () => { this.grabbed = null; },
      onkeydown: (event) => this.key(event),
    });
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.caption = el("p", { class: "timeline-caption muted" });
    this.element = el("div", { class: "timeline" }, this.canvas, this.caption);
    this.selected = -1;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    addEventListener("hookcli:theme", () => this.draw());
  }

  /** Show the events of a step. `visible(row)` tells whether an event matches the filter. */
  show(record, rows, depths) {
    const { lanes, bars } = arrange(record, rows, depths);
    this.record = record;
    this.rows = rows;
    this.indexOf = new Map(rows.map((row, index) => [row, index]));
    this.bars = bars;
    this.lanes = lanes;
    let top = 4;
    for (const lane of lanes) {
      lane.top = top;
      lane.height = (lane.depth + 1) * ROW + 4;
      top += lane.height + GAP;
    }
    this.height = top + 14;
    this.canvas.style.setProperty("height", `${this.height}px`);
    this.canvas.setAttribute("aria-label", `Timeline of ${rows.length} events in ${
      lanes.map((lane) => lane.phase).join(", ")}; select an event in the list or with the buttons`);
    this.reset();
  }

  /** Show all events. */
  reset() {
    this.view = [0, Math.max(this.rows.length, 1)];
    this.draw();
  }

  /** Select an event and mark those of a layer; scroll to the event. -1 selects none. */
  select(row, layer = -1) {
    this.selected = row;
    this.layer = layer;
    const index = this.indexOf?.get(row);
    if (index !== undefined && (index < this.view[0] || index + 1 > this.view[1])) {
      const half = (this.view[1] - this.view[0]) / 2;
      this.pan(index - half - this.view[0]);
    }
    this.draw();
  }

  /** Dim the events that do not match. */
  filter(visible) {
    this.visible = visible;
    this.draw();
  }

  /** Zoom by a factor around an event index, the middle if it is omitted. */
  zoom(factor, around = (this.view[0] + this.view[1]) / 2) {
    const count = Math.max(this.rows.length, 1);
    const width = Math.min(count, Math.max(NARROWEST, (this.view[1] - this.view[0]) * factor));
    const share = (around - this.view[0]) / (this.view[1] - this.view[0]);
    this.view = [around - share * width, around - share * width + width];
    this.pan(0);
  }

  pan(by) {
    const width = this.view[1] - this.view[0];
    const last = Math.max(this.rows.length, 1) - width;
    const from = Math.max(0, Math.min(last, this.view[0] + by));
    this.view = [from, from + width];
    this.draw();
  }

  key(event) {
    const width = this.view[1] - this.view[0];
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      "0": () => this.reset(), ArrowLeft: () => this.pan(-width / 8), ArrowRight: () => this.pan(width / 8),
      Home: () => this.pan(-Infinity), End: () => this.pan(Infinity),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    this.zoom(1.0015 ** (event.deltaY || event.deltaX), this.indexAt(event.offsetX));
  }

  grab(event) {
    this.grabbed = { x: event.offsetX, view: [...this.view], moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.grabbed) {
      this.hover(this.eventAt(event.offsetX, event.offsetY));
      return;
    }
    const by = event.offsetX - this.grabbed.x;
    if (Math.abs(by) > 3) this.grabbed.moved = true;
    if (!this.grabbed.moved) return;
    this.view = [...this.grabbed.view];
    this.pan((-by / (this.width - GUTTER)) * (this.view[1] - this.view[0]));
  }

  release(event) {
    const { grabbed } = this;
    this.grabbed = null;
    if (!grabbed || grabbed.moved) return;
    const row = this.eventAt(event.offsetX, event.offsetY);
    if (row !== null) this.choose(row);
  }

  hover(row) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.caption.textContent = row === null || row === undefined ? "" : this.describe(row);
  }

  describe(row) {
    const { events } = this.record;
    const values = events.values.get(row);
    return `${events.seq[row]}  ${events.phase.get(row)}  ${events.kind.get(row)}  ${
      events.target.get(row) || "(root)"}${values ? `  ${values}` : ""}`;
  }

  indexAt(x) {
    const share = (x - GUTTER) / Math.max(1, this.width - GUTTER);
    return this.view[0] + share * (this.view[1] - this.view[0]);
  }

  /** Return the event at a position: the deepest bar there; of a span, its first or last event. */
  eventAt(x, y) {
    if (!this.rows || x < GUTTER) return null;
    const at = this.indexAt(x);
    const lane = this.lanes.find((each) => y >= each.top - 2 && y <= each.top + each.height + 4);
    const depth = lane ? Math.floor((y - lane.top) / ROW) : -1;
    const reach = (3 / (this.width - GUTTER)) * (this.view[1] - this.view[0]);
    const near = this.bars.filter((bar) => bar.lane === lane && bar.from - reach <= at && bar.to + reach >= at);
    const best = near.sort((a, b) => Math.abs(a.depth - depth) - Math.abs(b.depth - depth) ||
      (a.to - a.from) - (b.to - b.from))[0];
    if (!best) return null;
    return at > (best.from + best.to) / 2 && best.to - best.from > 1 ? this.rows[best.to - 1] : best.row;
  }

  draw() {
    if (!this.rows || !this.canvas.isConnected) return;
    const scale = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    if (!this.width) return;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `11px ${color("--sans")}`;
    context.textBaseline = "middle";
    const colors = {
      forward: color("--forward"), backward: color("--backward"), optimizer: color("--optimizer"),
      text: color("--text"), muted: color("--muted"), line: color("--line"), page: color("--page"),
      change: color("--data-nan"), selected: color("--accent"), dim: color("--data-none"),
    };
    for (const lane of this.lanes) {
      context.fillStyle = colors.muted;
      context.fillText(lane.phase, 0, lane.top + lane.height / 2 - 2, GUTTER - 8);
      context.fillStyle = colors.line;
      context.fillRect(GUTTER, lane.top + lane.height + GAP / 2 - 3, this.width - GUTTER, 1);
    }
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.width - GUTTER, this.height);
    context.clip();
    this.drawBars(context, colors);
    this.drawMarks(context, colors);
    context.restore();
  }

  x(index) {
    return GUTTER + ((index - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - GUTTER);
  }

  drawBars(context, colors) {
    const drawn = new Map();
    const { events, layers } = this.record;
    for (const bar of this.bars) {
      if (bar.to < this.view[0] || bar.from > this.view[1]) continue;
      const left = this.x(bar.from);
      const width = Math.max(1, this.x(bar.to) - left - (this.view[1] - this.view[0] < 400 ? 1 : 0));
      const key = bar.lane.top * 100 + bar.depth;
      const end = drawn.get(key) ?? -1;
      if (left + width <= end) continue;
      drawn.set(key, Math.floor(left + width));
      const top = bar.lane.top + bar.depth * ROW;
      const shown = !this.visible || this.visible(bar.row) || this.visible(this.rows[bar.to - 1]);
      context.globalAlpha = shown ? 0.75 : 1;
      context.fillStyle = shown ? colors[events.phase.get(bar.row)] ?? colors.muted : colors.dim;
      context.fillRect(left, top, width, ROW - 2);
      context.globalAlpha = 1;
      if (bar.layer >= 0 && bar.layer === this.layer) {
        context.fillStyle = colors.selected;
        context.fillRect(left, top + ROW - 3, width, 2);
      }
      if (width < 34 || !shown) continue;
      const name = bar.layer < 0 ? events.target.get(bar.row) : layers.name.get(bar.layer) ?? "";
      context.fillStyle = colors.page;
      this.label(context, name.split(".").at(-1) || "(root)", Math.max(left, GUTTER) + 4, top + 6, width - 8);
    }
  }

  label(context, text, x, y, room) {
    const short = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    if (context.measureText(short).width <= room) context.fillText(short, x, y);
  }

  drawMarks(context, colors) {
    const { events } = this.record;
    let last = -9;
    context.fillStyle = colors.change;
    this.rows.forEach((row, index) => {
      if (!events.changed[row]) return;
      const x = (this.x(index) + this.x(index + 1)) / 2;
      if (x < GUTTER || x - last < 4) return;
      last = x;
      const lane = this.lanes.find((each) => each.phase === events.phase.get(row));
      const y = lane.top + lane.height + 2;
      context.beginPath();
      context.moveTo(x, y - 5);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + 5);
      context.lineTo(x - 5, y);
      context.fill();
    });
    const index = this.indexOf.get(this.selected);
    if (index === undefined) return;
    const from = this.x(index);
    context.fillStyle = colors.selected;
    context.globalAlpha = 0.25;
    context.fillRect(from, 0, Math.max(2, this.x(index + 1) - from), this.height);
    context.globalAlpha = 1;
    context.fillRect(from, 0, 2, this.height);
  }
}
