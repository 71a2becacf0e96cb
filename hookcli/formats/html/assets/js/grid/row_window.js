/** The rows of a long list that are in view, as nodes that are used again for other rows. */

import { paper } from "../frame/paper.js";

const ROW_HEIGHT = 28;
const OVERSCAN = 8;
// Browsers limit the height of an element: Firefox to about 17 million px, others to 33 million.
const TALLEST = 8e6;
const ON_PAPER = 500; // rows: panels draw their grids again before and after they are printed
const SPARE_NODES = 60;
// The bar with the tabs covers the top of the window.
const COVERED = 64;

/**
 * Keeps nodes for the rows in view of `box` in its `body`. `source.rows` are all rows in order.
 * `make()` returns a new node. `fill(node, row)` writes what it shows, again if `version` changed;
 * `describe(node, row, at)` the rest, each time. `changed()` is called if other rows are in view.
 */
export class RowWindow {
  constructor(source, { box, body, make, fill, describe, changed }) {
    Object.assign(this, { source, box, body, make, fill, describe });
    this.nodes = new Map();
    this.spare = [];
    this.version = 0;
    this.moved = false;
    // What layout would say: to read it after a change costs as much as a new layout.
    this.view = 0;
    this.scrolled = 0;
    box.addEventListener("scroll", () => {
      this.scrolled = box.scrollTop;
      box.classList.toggle("scrolled", box.scrollLeft > 0);
      changed();
    }, { passive: true });
    new ResizeObserver(() => {
      this.measure();
      changed();
    }).observe(box);
  }

  /** Read the size of the box again; it can have been hidden. */
  measure() {
    const { maxHeight } = getComputedStyle(this.box);
    this.view = (parseFloat(maxHeight) || innerHeight) - ROW_HEIGHT;
    this.scrolled = this.box.scrollTop;
  }

  /** How many rows the keys for a page move by. */
  get page() {
    return Math.max(1, Math.floor(this.view / ROW_HEIGHT) - 1);
  }

  // A body that would be too tall is compressed: `ratio` px of rows pass for each px scrolled.
  extent() {
    const full = this.source.rows.length * ROW_HEIGHT;
    const height = Math.min(full, TALLEST);
    const room = height - this.view;
    return { full, height, ratio: room > 0 ? (full - this.view) / room : 1 };
  }

  /** Scroll the box to the row at a place of the list at the next `draw`, if it is not in view. */
  scrollTo(at) {
    if (!this.view) this.measure();
    const { ratio, full } = this.extent();
    const top = at * ROW_HEIGHT;
    const offset = this.scrolled * ratio;
    const past = top + ROW_HEIGHT - this.view;
    if (at < 0 || (top >= offset && past <= offset)) return;
    const near = Math.abs(top - offset - this.view / 2) < this.view;
    const target = !near ? (top + past) / 2 : top < offset ? top : past;
    this.scroll(Math.max(0, Math.min(target, full - this.view)) / ratio);
  }

  /** Scroll the box at the next `draw`. */
  scroll(to) {
    this.moved = to !== this.scrolled;
    this.scrolled = to;
  }

  /** Scroll the document to a row that is in view of the box. */
  showInDocument(row) {
    const node = this.nodes.get(row);
    if (paper.matches || !node) return;
    const { top, bottom } = node.getBoundingClientRect();
    if (bottom > innerHeight) scrollBy(0, bottom - innerHeight + ROW_HEIGHT);
    else if (top < COVERED && bottom > top) scrollBy(0, top - COVERED - ROW_HEIGHT);
  }

  /** Make the nodes in view, and that of `pinned`; return how many rows are not on paper. */
  draw(pinned) {
    const { rows } = this.source;
    const { height, ratio } = this.extent();
    const top = Math.max(0, Math.min(this.scrolled, height - this.view));
    const offset = top * ratio;
    let from = Math.max(0, Math.floor(offset / ROW_HEIGHT) - OVERSCAN);
    let to = Math.ceil((offset + this.view) / ROW_HEIGHT) + OVERSCAN;
    if (paper.matches) [from, to] = [0, ON_PAPER];
    const places = [];
    for (let at = from; at < Math.min(to, rows.length); at += 1) places.push(at);
    if (pinned >= to) places.push(pinned);
    else if (pinned >= 0 && pinned < from) places.unshift(pinned);
    this.body.style.setProperty("height", `${height}px`);
    const focused = this.body.contains(document.activeElement);
    this.recycle(new Set(places.map((at) => rows[at])));
    this.order(places.map((at) => this.nodeAt(at, top - offset)));
    if (this.moved) this.box.scrollTop = this.scrolled;
    this.moved = false;
    if (focused && !this.body.contains(document.activeElement)) this.focus(rows[pinned]);
    return paper.matches ? Math.max(0, rows.length - ON_PAPER) : 0;
  }

  focus(row) {
    this.nodes.get(row)?.focus({ preventScroll: true });
  }

  /** Forget all nodes. */
  clear() {
    this.body.replaceChildren();
    this.nodes.clear();
    this.spare = [];
  }

  recycle(wanted) {
    for (const [row, node] of this.nodes) {
      if (wanted.has(row)) continue;
      this.nodes.delete(row);
      this.spare.push(node);
    }
  }

  nodeAt(at, shift) {
    const row = this.source.rows[at];
    let node = this.nodes.get(row);
    if (!node) {
      node = this.spare.pop() ?? this.make();
      node.version = -1;
      node.row = row;
      node.hidden = false;
      this.nodes.set(row, node);
    }
    if (node.version !== this.version) this.fill(node, row);
    node.version = this.version;
    node.style.setProperty("top", `${at * ROW_HEIGHT + shift}px`);
    this.describe(node, row, at);
    return node;
  }

  /** Put nodes into the order of their rows; the node with the focus would lose it if it moved. */
  order(nodes) {
    for (const node of this.spare.splice(SPARE_NODES)) node.remove();
    for (const node of this.spare) node.hidden = true;
    const { body } = this;
    let next = body.firstChild;
    for (const node of nodes) {
      while (next?.hidden) next = next.nextSibling;
      if (node.contains(document.activeElement)) {
        while (next !== node) {
          const other = next;
          next = next.nextSibling;
          body.append(other);
        }
      }
      if (node === next) next = next.nextSibling;
      else body.insertBefore(node, next);
    }
  }
}
