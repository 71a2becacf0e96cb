/** A plot of many rows: labels, an axis, zoom, a cursor. What its cells show is drawn by others. */

import { el } from "../frame/dom.js";
import { paper } from "../frame/paper.js";
import { color } from "../frame/theme.js";

const [AXIS, FULL_ROW, ZOOMED_ROW, ZOOMED_COLUMN] = [26, 20, 32, 64];
const PAPER = { width: 700, height: 860 };
const ZOOM = 1.5;
const LETTERS = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
const ARROWS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -1e9], End: [0, 1e9],
};

/**
 * A plot in `host`. `kind` has `label`, for screen readers, `column`, the largest width of a column,
 * `bin`, the least size that is drawn, `draw(ctx, view)`, `ticks(view)`, which returns
 * [title, [x, text] …], `tell(bin)`, which returns {lines, row, column} of the worst cell of a bin,
 * `choose(row, column)`, and `changed(view)`, called when the sizes are others.
 *
 * A `view` has pixels of the page: the cells fill the rectangle at `left` and `top`; `row` and
 * `column` are the sizes of a cell, `rows` and `columns` those of a bin in cells.
 */
export class Plot {
  constructor(host, kind) {
    this.kind = kind;
    this.zoom = { row: 1, column: 1 };
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.cursorBox = el("div", { class: "plot-cursor", hidden: true });
    this.dragBox = el("div", { class: "plot-mark", hidden: true });
    this.marks = el("div", {});
    this.space = el("div", { class: "plot-space" }, this.marks, this.cursorBox, this.dragBox);
    this.scroller = el("div", {
      class: "plot-scroll", tabindex: "0", role: "application", "aria-label": kind.label,
      "aria-describedby": kind.describedBy,
      onscroll: () => this.draw(), onkeydown: (event) => this.press(event),
      onpointermove: (event) => this.point(event), onpointerdown: (event) => this.start(event),
      onpointerup: (event) => this.end(event), onpointercancel: () => { this.drag = null; },
      onpointerleave: () => this.hide(),
      onblur: () => this.hide(),
    }, this.space);
    this.tip = el("div", { class: "plot-tip", hidden: true });
    this.live = el("p", { class: "unseen", role: "status" });
    this.frame = el("div", { class: "plot" }, this.canvas, this.scroller, this.tip, this.live);
    host.append(this.frame);
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.names && this.frame.clientWidth !== this.width && this.layout())
      .observe(this.frame);
  }

  /** Show other rows: their names, in their order, and the number of columns. */
  show(names, columns) {
    Object.assign(this, { names, columns, rows: names.order.length });
    this.space.classList.toggle("one-column", columns === 1);
    this.hide();
    this.layout();
  }

  /** Find all sizes, for the window or for paper, and draw. */
  layout() {
    const { zoom, rows, columns, kind } = this;
    this.printed = paper.matches;
    const unzoomed = this.printed && { row: 1, column: 1 };
    this.width = this.printed ? PAPER.width : this.frame.clientWidth;
    if (!this.width) return;
    const ctx = this.canvas.getContext("2d");
    ctx.font = LETTERS;
    const letter = ctx.measureText("0").width;
    const tallest = this.printed ? PAPER.height : Math.min(Math.max(innerHeight - 230, 320), 900);
    const fitRow = Math.min(tallest / Math.max(rows, 1), FULL_ROW);
    zoom.row = Math.min(Math.max(zoom.row, 1), ZOOMED_ROW / fitRow);
    const row = fitRow * (unzoomed || zoom).row;
    const most = Math.min(Math.max(this.width * 0.36, 104), 380);
    const left = Math.round(Math.min(this.names.plan(row) * letter + 18, most));
    const fitColumn = Math.min((this.width - left) / columns, kind.column);
    zoom.column = Math.max(Math.min(zoom.column, ZOOMED_COLUMN / fitColumn), 1);
    const column = fitColumn * (unzoomed || zoom).column;
    const width = Math.min(column * columns, this.width - left);
    const height = Math.min(row * rows, tallest);
    put(this.scroller, left, AXIS, Math.ceil(width), Math.ceil(height));
    put(this.space, 0, 0, Math.floor(column * columns), Math.floor(row * rows));
    this.frame.style.setProperty("height", `${AXIS + Math.ceil(height)}px`);
    const ratio = Math.max(devicePixelRatio, this.printed ? 2 : 1);
    this.canvas.width = this.width * ratio;
    this.canvas.height = (AXIS + Math.ceil(height)) * ratio;
    put(this.canvas, 0, 0, this.width, AXIS + Math.ceil(height));
    this.view = {
      left, top: AXIS, letter, ratio, row, column, width, height,
      rows: Math.max(Math.ceil(kind.bin / row), 1),
      columns: 2 ** Math.max(Math.ceil(Math.log2(kind.bin / column)), 0),
    };
    kind.changed(this.view);
    this.mark(this.marked ?? [], this.markedColumn ?? -1);
    this.draw();
  }

  draw() {
    const { view, scroller, canvas, printed } = this;
    if (!view) return;
    view.x = printed ? 0 : scroller.scrollLeft;
    view.y = printed ? 0 : scroller.scrollTop;
    view.first = Math.floor(view.y / view.row);
    view.last = Math.min(Math.ceil((view.y + view.height) / view.row), this.rows);
    view.start = Math.floor(view.x / view.column);
    view.end = Math.min(Math.ceil((view.x + view.width) / view.column), this.columns);
    view.xOf = (column) => view.left + column * view.column - view.x;
    view.yOf = (row) => view.top + row * view.row - view.y;
    const ctx = canvas.getContext("2d");
    ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, canvas.height);
    const { left, top, width, height } = view;
    clipped(ctx, left, top, width, height, () => this.kind.draw(ctx, view));
    clipped(ctx, 0, top, left, height, () => this.names.draw(ctx, view));
    clipped(ctx, 0, 0, this.width, top, () => this.drawAxis(ctx, view));
  }

  drawAxis(ctx, view) {
    const [title, ...ticks] = this.kind.ticks(view);
    ctx.fillStyle = color("--muted");
    ctx.textAlign = "right";
    ctx.fillText(title, view.left - 8, 13);
    ctx.textAlign = "center";
    for (const [x, text] of ticks) {
      const half = (String(text).length * view.letter) / 2;
      ctx.fillText(text, Math.max(Math.min(x, this.width - half), view.left + half), 13);
      ctx.fillRect(x, AXIS - 5, 1, 4);
    }
  }

  /** Return the bin that contains a cell: the rows [first, last), the columns [start, end). */
  binOf({ row, column }) {
    const { rows, columns } = this.view;
    const first = row - (row % rows);
    const start = column - (column % columns);
    const last = Math.min(first + rows, this.rows);
    return { first, last, start, end: Math.min(start + columns, this.columns) };
  }

  /** Return where an event is: x and y in all cells, and the cell if there is one. */
  placeOf(event) {
    const { view } = this;
    const box = this.space.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const cell = { row: Math.floor(y / view.row), column: Math.floor(x / view.column) };
    const inside = x >= 0 && y >= 0 && cell.row < this.rows && cell.column < this.columns;
    return { x, y, cell: inside ? cell : null };
  }

  point(event) {
    const at = this.placeOf(event);
    const box = this.drag && event.pointerType === "mouse" && between(this.drag, at);
    if (box && Math.max(box[2], box[3]) > 6) {
      this.hide();
      this.dragBox.hidden = false;
      put(this.dragBox, ...box);
    } else if (at.cell) this.moveTo(at.cell, at.x, at.y);
  }

  start(event) {
    // What is neither a cell nor a part of `space` is a scrollbar.
    if (event.button || event.target === this.scroller) return;
    this.drag = this.placeOf(event);
    if (event.pointerType === "mouse") this.scroller.setPointerCapture(event.pointerId);
  }

  end(event) {
    const { drag, view } = this;
    const at = this.placeOf(event);
    const dragged = !this.dragBox.hidden;
    this.drag = null;
    this.dragBox.hidden = true;
    if (drag && !dragged && at.cell) this.choose(at.cell);
    if (!dragged) return;
    const [x, y, width, height] = between(drag, at);
    this.zoomTo(this.zoom.row * (view.height / height), this.zoom.column * (view.width / width),
      y / view.row, x / view.column, 0, 0);
  }

  /** Choose the worst cell of the bin around a cell. */
  choose(cell) {
    const { row, column } = this.kind.tell(this.binOf(cell));
    this.kind.choose(row, column);
  }

  /** Set the zoom so that a place, in rows and columns, is x and y from the corner of the view. */
  zoomTo(rowZoom, columnZoom, row, column, x, y) {
    this.zoom = { row: rowZoom, column: columnZoom };
    this.hide();
    this.layout();
    this.scroller.scrollTop = row * this.view.row - y;
    this.scroller.scrollLeft = column * this.view.column - x;
    this.draw();
  }

  /** Zoom in or out around a place; cells that are large enough already keep their size. */
  zoomBy(factor, at = null) {
    const { view, zoom } = this;
    const x = at ? at.x - view.x : view.width / 2;
    const y = at ? at.y - view.y : view.height / 2;
    const grown = (size, value) => (factor > 1 && size >= FULL_ROW ? value : value * factor);
    this.zoomTo(grown(view.row, zoom.row), grown(view.column, zoom.column),
      (view.y + y) / view.row, (view.x + x) / view.column, x, y);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? ZOOM : 1 / ZOOM, this.placeOf(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows) return;
    const act = {
      "+": () => this.zoomBy(ZOOM), "=": () => this.zoomBy(ZOOM), "-": () => this.zoomBy(1 / ZOOM),
      0: () => this.zoomTo(1, 1, 0, 0, 0, 0), Escape: () => this.hide(),
      Enter: () => this.cursor && this.choose(this.cursor),
    }[event.key] ?? (ARROWS[event.key] && (() => this.moveBy(...ARROWS[event.key])));
    if (!act) return;
    event.preventDefault();
    act();
  }

  moveBy(down, right) {
    const { view } = this;
    const from = this.cursor ?? { row: view.first - down * view.rows, column: view.start };
    const to = (at, by, count) => Math.min(Math.max(at + by, 0), count - 1);
    const row = to(from.row, down * view.rows, this.rows);
    const column = to(from.column, right * view.columns, this.columns);
    this.reveal(row, column);
    this.moveTo({ row, column }, (column + 0.5) * view.column, (row + 0.5) * view.row);
    this.live.textContent = [...this.tip.children].map((line) => line.textContent).join(", ");
  }

  /** Put the cursor on a cell, and what it says near x and y. */
  moveTo(cell, x, y) {
    const { view, tip } = this;
    this.cursor = cell;
    const bin = this.binOf(cell);
    this.cursorBox.hidden = false;
    put(this.cursorBox, bin.start * view.column, bin.first * view.row,
      (bin.end - bin.start) * view.column, (bin.last - bin.first) * view.row);
    tip.replaceChildren(...this.kind.tell(bin).lines.map((text) => el("p", { dir: "auto", text })));
    tip.hidden = false;
    const right = view.left + x - view.x + 16;
    const below = view.top + y - view.y + 18;
    const over = below + tip.offsetHeight > this.frame.offsetHeight + 60;
    const wide = right + tip.offsetWidth > this.width;
    put(tip, wide ? Math.max(right - 32 - tip.offsetWidth, 0) : right,
      over ? below - 30 - tip.offsetHeight : below);
  }

  hide() {
    this.tip.hidden = true;
    if (document.activeElement === this.scroller) return;
    this.cursor = null;
    this.cursorBox.hidden = true;
  }

  /** Scroll as little as shows a cell; column -1 is any. */
  reveal(row, column) {
    const { view, scroller } = this;
    const into = (at, size, from, room) => Math.min(Math.max(from, at + size - room), at);
    const { column: width, row: height } = view;
    scroller.scrollTop = into(row * height, height, view.y, view.height);
    if (column >= 0) scroller.scrollLeft = into(column * width, width, view.x, view.width);
    this.draw();
  }

  /** Outline rows, which are sorted, and a column (-1: none). */
  mark(rows, column, reveal = false) {
    Object.assign(this, { marked: rows, markedColumn: column });
    const { view, marks } = this;
    if (!view) return;
    const runs = [];
    for (const row of rows) {
      if (runs.at(-1)?.[1] === row) runs.at(-1)[1] += 1;
      else runs.push([row, row + 1]);
    }
    const box = (...at) => put(el("div", { class: "plot-mark" }), ...at);
    marks.replaceChildren(...runs.slice(0, 200).map(([from, to]) =>
      box(0, from * view.row, this.columns * view.column, Math.max((to - from) * view.row, 3))));
    if (column >= 0) {
      marks.append(box(column * view.column, 0, Math.max(view.column, 3), this.rows * view.row));
    }
    if (reveal && rows.length) this.reveal(rows[0], column);
  }
}

function put(node, ...place) {
  ["left", "top", "width", "height"].slice(0, place.length).forEach((name, index) =>
    node.style.setProperty(name, `${place[index]}px`));
  return node;
}

function between(a, b) {
  return [Math.min(a.x, b.x), Math.min(a.y, b.y), Math.abs(a.x - b.x), Math.abs(a.y - b.y)];
}

function clipped(ctx, x, y, width, height, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  ctx.font = LETTERS;
  ctx.textBaseline = "middle";
  draw();
  ctx.restore();
}
