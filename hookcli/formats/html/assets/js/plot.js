/** A plot of many rows: labels, an axis, zoom, a cursor. What its cells show is drawn by others. */

import { el } from "./dom.js";
import { color } from "./theme.js";

const AXIS = 26;
const ROW = 20;
const MOST_ROW = 32;
const PAPER = { width: 700, height: 860 };
const LETTERS = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
const KEYS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity],
};

/**
 * A plot in `host`. `kind` says what the rows are: `label` is the name for screen readers, `column`
 * the width of a column at most, `bin` the least size of what is drawn, in pixels; then
 * `draw(ctx, view)`, `drawAxis(ctx, view)`, `tell(bin)`, which returns {title, lines, row, column}
 * for the worst cell of a bin; `choose(row, column)` is called when a cell is chosen, and
 * `changed(view)` when the sizes are others.
 *
 * Coordinates of a `view` are pixels of the page: the cells fill the rectangle at `left` and `top`,
 * `row` and `column` are the sizes of a cell, and `rows` and `columns` those of a bin in cells.
 */
export class Plot {
  constructor(host, kind) {
    this.host = host;
    this.kind = kind;
    this.zoom = { row: 1, column: 1 };
    this.printed = false;
    this.cursor = null;
    this.marked = { rows: [], column: -1 };
    this.base = el("canvas", { "aria-hidden": "true" });
    this.over = el("canvas", { "aria-hidden": "true" });
    this.space = el("div", {});
    this.scroller = el("div", {
      class: "plot-scroll", tabindex: "0", role: "application", "aria-label": kind.label,
      "aria-describedby": kind.describedBy,
      onscroll: () => this.later(), onkeydown: (event) => this.pressKey(event),
      onpointermove: (event) => this.point(event), onpointerdown: (event) => this.press(event),
      onpointerup: (event) => this.release(event), onpointerleave: () => this.hideTip(),
      onblur: () => this.hideTip(),
    }, this.space);
    this.tip = el("div", { class: "plot-tip", hidden: true });
    this.live = el("p", { class: "plot-live", role: "status" });
    this.frame = el("div", { class: "plot" }, this.base, this.over, this.scroller, this.tip);
    host.append(this.frame, this.live);
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => {
      if (this.names && this.frame.clientWidth !== this.width && !this.printed) this.layout();
    }).observe(this.frame);
    for (const [type, printed] of [["beforeprint", true], ["afterprint", false]]) {
      const onPrint = () => {
        if (!host.isConnected) removeEventListener(type, onPrint);
        else if (this.names) this.print(printed);
      };
      addEventListener(type, onPrint);
    }
  }

  /** Show other rows: their names, arranged in their order, and the number of columns. */
  show(names, columns) {
    this.names = names;
    this.columns = columns;
    this.cursor = null;
    this.hideTip();
    this.layout();
  }

  /** Draw the whole picture at the width of paper, or return to that of the window. */
  print(printed) {
    if (this.printed === printed || !this.names) return;
    this.printed = printed;
    this.layout();
  }

  get rows() {
    return this.names.order.length;
  }

  /** Find the sizes of everything for the width of the page, and draw. */
  layout() {
    const { zoom, printed, rows, columns } = this;
    this.width = printed ? PAPER.width : this.frame.clientWidth;
    if (!this.width) return;
    const ctx = this.base.getContext("2d");
    ctx.font = LETTERS;
    const letter = ctx.measureText("0").width;
    const tallest = printed ? PAPER.height : Math.min(Math.max(innerHeight - 230, 320), 900);
    const most = Math.min(Math.max(this.width * 0.36, 104), 380);
    const fitRow = Math.min(tallest / Math.max(rows, 1), ROW);
    zoom.row = Math.min(Math.max(zoom.row, 1), MOST_ROW / fitRow);
    const row = fitRow * (printed ? 1 : zoom.row);
    const left = Math.round(Math.min(this.names.plan(row) * letter + 22, most));
    const fitColumn = Math.min((this.width - left - 1) / Math.max(columns, 1), this.kind.column);
    zoom.column = Math.min(Math.max(zoom.column, 1), Math.max(64 / fitColumn, 1));
    const column = fitColumn * (printed ? 1 : zoom.column);
    const box = {
      width: Math.min(Math.ceil(column * columns), this.width - left),
      height: Math.min(Math.ceil(row * rows), Math.ceil(tallest)),
    };
    const { style } = this.scroller;
    style.setProperty("left", `${left}px`);
    style.setProperty("top", `${AXIS}px`);
    style.setProperty("width", `${box.width}px`);
    style.setProperty("height", `${box.height}px`);
    this.space.style.setProperty("width", `${Math.floor(column * columns)}px`);
    this.space.style.setProperty("height", `${Math.floor(row * rows)}px`);
    this.frame.style.setProperty("height", `${AXIS + box.height}px`);
    const ratio = printed ? 2 : devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round((AXIS + box.height + 1) * ratio);
      canvas.style.setProperty("width", `${this.width}px`);
      canvas.style.setProperty("height", `${AXIS + box.height + 1}px`);
    }
    const least = this.kind.bin;
    this.view = {
      left, top: AXIS, letter, ratio, row, column, total: this.width,
      rows: Math.max(Math.ceil(least / row), 1),
      columns: 2 ** Math.max(Math.ceil(Math.log2(least / column)), 0),
    };
    this.kind.changed(this.view);
    this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    const { view, scroller, base } = this;
    if (!view || !this.width) return;
    performance.mark("hookcli:plot");
    view.width = this.printed ? parseFloat(scroller.style.width) : scroller.clientWidth;
    view.height = this.printed ? parseFloat(scroller.style.height) : scroller.clientHeight;
    view.x = this.printed ? 0 : scroller.scrollLeft;
    view.y = this.printed ? 0 : scroller.scrollTop;
    view.first = Math.max(Math.floor(view.y / view.row), 0);
    view.last = Math.min(Math.ceil((view.y + view.height) / view.row), this.rows);
    view.start = Math.max(Math.floor(view.x / view.column), 0);
    view.end = Math.min(Math.ceil((view.x + view.width) / view.column), this.columns);
    view.xOf = (column) => view.left + column * view.column - view.x;
    view.yOf = (row) => view.top + row * view.row - view.y;
    const ctx = base.getContext("2d");
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, base.width, base.height);
    ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    this.clipped(ctx, view.left, view.top, view.width, view.height, () => this.kind.draw(ctx, view));
    ctx.font = LETTERS;
    this.clipped(ctx, 0, view.top, view.left, view.height, () => this.names.draw(ctx, view));
    ctx.font = LETTERS;
    this.clipped(ctx, 0, 0, view.total, view.top, () => this.kind.drawAxis(ctx, view));
    this.drawOver();
    performance.measure("hookcli:plot", "hookcli:plot");
  }

  clipped(ctx, x, y, width, height, draw) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, width, height);
    ctx.clip();
    draw();
    ctx.restore();
  }

  /** Draw what moves: the cursor, the outlines of what is selected, the rectangle of a zoom. */
  drawOver() {
    const { view, over, cursor, marked, drag } = this;
    const ctx = over.getContext("2d");
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, over.width, over.height);
    ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    const accent = color("--accent");
    const band = (x, y, width, height) => {
      ctx.globalAlpha = 0.22;
      ctx.fillStyle = accent;
      ctx.fillRect(x, y, width, height);
      ctx.globalAlpha = 1;
    };
    const right = view.left + view.width;
    const low = view.top + view.height;
    this.clipped(ctx, 0, view.top, right + 1, view.height + 1, () => {
      ctx.strokeStyle = accent;
      ctx.lineWidth = 2;
      for (const [first, last] of runsOf(marked.rows)) {
        const y = view.yOf(first);
        const height = Math.max((last + 1 - first) * view.row, 3);
        if (y + height < view.top || y > low) continue;
        band(0, y, view.left - 3, height);
        ctx.strokeRect(view.left + 1, y, view.width - 1, height);
      }
    });
    this.clipped(ctx, view.left, 0, view.width + 1, low + 1, () => {
      if (marked.column < 0 || this.columns < 2) return;
      const x = view.xOf(marked.column);
      const width = Math.max(view.column, 3);
      band(x, 0, width, view.top - 3);
      ctx.strokeStyle = accent;
      ctx.lineWidth = 2;
      ctx.strokeRect(x, view.top + 1, width, view.height - 2);
    });
    if (cursor) this.drawCursor(ctx, view);
    if (drag?.moved) {
      const [x, y, width, height] = dragged(drag);
      band(x, y, width, height);
      ctx.strokeStyle = accent;
      ctx.lineWidth = 1;
      ctx.strokeRect(x, y, width, height);
    }
  }

  drawCursor(ctx, view) {
    const bin = this.bin();
    const x = view.xOf(bin.start);
    const y = view.yOf(bin.first);
    const width = Math.min((bin.end - bin.start) * view.column, view.width);
    const height = (bin.last - bin.first) * view.row;
    ctx.fillStyle = color("--muted");
    this.clipped(ctx, 0, view.top, view.left, view.height, () =>
      ctx.fillRect(view.left - 4, y, 4, Math.max(height, 2)));
    this.clipped(ctx, view.left, 0, view.width, view.top, () =>
      ctx.fillRect(x, view.top - 4, Math.max(width, 2), 4));
    this.clipped(ctx, view.left - 2, view.top - 2, view.width + 4, view.height + 4, () => {
      for (const [name, line, grow] of [["--page", 4, 0], ["--text", 2, 0]]) {
        ctx.strokeStyle = color(name);
        ctx.lineWidth = line;
        ctx.strokeRect(x - grow, y - grow, width, height);
      }
    });
  }

  /** Return the rows and columns of the bin under the cursor: [first, last) and [start, end). */
  bin() {
    const { rows, columns } = this.view;
    const first = Math.floor(this.cursor.row / rows) * rows;
    const start = Math.floor(this.cursor.column / columns) * columns;
    return {
      first, last: Math.min(first + rows, this.rows),
      start, end: Math.min(start + columns, this.columns),
    };
  }

  /** Return the cell at a point of the window; null outside the cells. */
  cellAt(event) {
    const { view } = this;
    const box = this.frame.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const row = Math.floor((y - view.top + view.y) / view.row);
    const column = Math.floor((x - view.left + view.x) / view.column);
    const inside = row >= 0 && row < this.rows && column >= 0 && column < this.columns;
    return { x, y, cell: inside ? { row, column } : null };
  }

  point(event) {
    const at = this.cellAt(event);
    if (this.drag) {
      this.drag.to = at;
      const [, , width, height] = dragged(this.drag);
      this.drag.moved ||= width > 6 || height > 6;
      if (this.drag.moved) {
        this.hideTip();
        this.drawOver();
        return;
      }
    }
    if (at.cell) this.moveTo(at.cell, at);
  }

  press(event) {
    if (event.button !== 0 || event.offsetX > this.view.width + this.view.x) return;
    const at = this.cellAt(event);
    this.drag = { from: at, to: at, moved: false };
    if (event.pointerType === "mouse") this.scroller.setPointerCapture(event.pointerId);
  }

  release(event) {
    const { drag, view } = this;
    this.drag = null;
    if (!drag) return;
    if (!drag.moved) {
      const { cell } = this.cellAt(event);
      if (cell) this.choose(cell);
      return;
    }
    if (event.pointerType !== "mouse") return;
    const [x, y, width, height] = dragged(drag);
    const row = (y - view.top + view.y) / view.row;
    const column = (x - view.left + view.x) / view.column;
    this.zoomTo(
      { row: (this.zoom.row * view.height) / height, column: (this.zoom.column * view.width) / width },
      { row, column, x: 0, y: 0 },
    );
  }

  /** Choose the worst cell of the bin at a cell. */
  choose(cell) {
    this.cursor = cell;
    const { row, column } = this.kind.tell(this.bin());
    this.kind.choose(row, column);
  }

  /** Set the zoom, such that a place in rows and columns is at x and y of the cells' rectangle. */
  zoomTo(zoom, at) {
    this.zoom = zoom;
    this.hideTip();
    this.layout();
    this.scroller.scrollLeft = at.column * this.view.column - at.x;
    this.scroller.scrollTop = at.row * this.view.row - at.y;
    this.draw();
  }

  /** Zoom by a factor around a point; an axis with cells of a good size already keeps its zoom. */
  zoomBy(factor, point = null) {
    const { view, zoom } = this;
    const x = point ? point.x - view.left : view.width / 2;
    const y = point ? point.y - view.top : view.height / 2;
    const at = { row: (view.y + y) / view.row, column: (view.x + x) / view.column, x, y };
    const next = { ...zoom };
    if (factor < 1 || view.row < ROW) next.row *= factor;
    if (this.columns > 1 && (factor < 1 || view.column < ROW)) next.column *= factor;
    this.zoomTo({ row: Math.max(next.row, 1), column: Math.max(next.column, 1) }, at);
  }

  /** Show all rows and columns. */
  reset() {
    this.zoomTo({ row: 1, column: 1 }, { row: 0, column: 0, x: 0, y: 0 });
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 1.5 : 1 / 1.5, this.cellAt(event));
  }

  pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows) return;
    const step = KEYS[event.key];
    const zoom = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
    if (step) this.moveBy(step);
    else if (zoom) this.zoomBy(zoom);
    else if (event.key === "0") this.reset();
    else if (event.key === "Escape") this.hideTip();
    else if ((event.key === "Enter" || event.key === " ") && this.cursor) this.choose(this.cursor);
    else return;
    event.preventDefault();
  }

  moveBy([down, right]) {
    const { view } = this;
    const from = this.cursor ?? { row: view.first - (down > 0 ? view.rows : 0), column: view.start };
    const row = from.row + down * view.rows;
    const column = from.column + (right ? right * view.columns : 0);
    const cell = {
      row: Math.min(Math.max(row, 0), this.rows - 1),
      column: Math.min(Math.max(column, 0), this.columns - 1),
    };
    this.reveal(cell.row, cell.column);
    const at = { x: view.xOf(cell.column + 0.5), y: view.yOf(cell.row + 0.5) };
    this.moveTo(cell, at);
    const { title, lines } = this.kind.tell(this.bin());
    this.live.textContent = [title, ...lines].join(", ");
  }

  moveTo(cell, at) {
    this.cursor = cell;
    const { title, lines } = this.kind.tell(this.bin());
    this.drawOver();
    this.tip.replaceChildren(
      el("bdi", { class: "name", text: title }), ...lines.map((text) => el("p", { text })),
    );
    this.tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const x = at.x + 16 + width > this.width ? Math.max(at.x - 16 - width, 0) : at.x + 16;
    const below = at.y + 18 + height < this.frame.offsetHeight + 40;
    this.tip.style.setProperty("left", `${x}px`);
    this.tip.style.setProperty("top", `${below ? at.y + 18 : Math.max(at.y - 12 - height, 0)}px`);
  }

  hideTip() {
    this.tip.hidden = true;
    if (this.cursor && this.view && document.activeElement !== this.scroller) {
      this.cursor = null;
      this.drawOver();
    }
  }

  /** Scroll as little as shows a cell. */
  reveal(row, column) {
    const { view, scroller } = this;
    if (!view || this.printed) return;
    const into = (at, size, from, room) =>
      at < from ? at : at + size > from + room ? at + size - room : from;
    const top = into(row * view.row, view.row, view.y, view.height);
    const left = column < 0 ? view.x : into(column * view.column, view.column, view.x, view.width);
    if (top === view.y && left === view.x) return;
    scroller.scrollTop = top;
    scroller.scrollLeft = left;
    this.draw();
  }

  /** Outline rows and a column (-1: none). */
  mark(rows, column, reveal) {
    this.marked = { rows, column };
    if (!this.view) return;
    if (reveal && rows.length) this.reveal(rows[0], column);
    this.drawOver();
  }
}

function dragged({ from, to }) {
  return [
    Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y),
  ];
}

function runsOf(rows) {
  const runs = [];
  for (const row of rows) {
    if (runs.length && runs.at(-1)[1] === row - 1) runs.at(-1)[1] = row;
    else runs.push([row, row]);
  }
  return runs;
}
