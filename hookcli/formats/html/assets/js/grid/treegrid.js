/**
 * A grid of many rows, of which only those in view are in the document; with `parent`, a tree.
 *
 * const grid = createTreegrid({
 *   label: "Layers",            what the rows are, for screen readers
 *   count: 20000,               rows are numbers from 0; their order is that without a sort
 *   parent: [-1, 0, 0, …],      the row of the parent by row, -1: none; without it the grid is flat
 *   columns: [{
 *     id, title, help,          `help` is the tooltip of the header
 *     width | min, grow,        px; a column with `grow` takes a share of the width that is left
 *     align: "end",             for numbers
 *     value(row),               what to sort by: number, string or null (last); without it no sort
 *     descending: true,         the first click on the header sorts the largest first
 *     cell(row, isFlat),        a Node or string; null: nothing; `isFlat`: no levels are shown
 *     hint(row),                the tooltip of the cell
 *     off: true,                not shown at first
 *   }],                         the first column has the folds, and stays when scrolled sideways
 *   rowClass(row),              classes of a row
 *   onselect(row),              a click, Enter or Space
 *   most: 200,                  as many rows are open at first
 * });
 * host.append(grid.tools, grid.element);     `tools`: folds of a tree, and which columns are shown
 *
 * grid.select(row, reveal)      show a row as selected, -1: none; `reveal` unfolds and scrolls
 * grid.showInDocument()         scroll the page to the selected row, which is in view of the grid
 * grid.filter(matches)          a Uint8Array by row, null: all; then all cells are made again
 * grid.sort(id, descending)     id null: none
 * grid.refresh()                make all cells again, and fit them into the element's size
 * grid.revalue()                make all cells again, and sort again: values are others
 * grid.fold(rows, open)         open or close some rows
 * grid.setDepth(depth)          open the rows above a depth, and close all others
 * grid.setListed(listed)        show a tree without its levels
 * grid.rows                     a TreeRows: grid.rows.rows are the rows shown
 *
 * `barCell(text, own, all)` is a number with a bar; `marked(text, query)` has marks at matches.
 */

import { el } from "../frame/dom.js";
import { GridHeader, cellClass } from "./header.js";
import { createTools } from "./tools.js";
import { RowWindow } from "./row_window.js";
import { counted } from "../frame/text.js";
import { TreeRows } from "./tree_rows.js";

const GUIDE_WIDTH = 15;
const LEAST_NAME = 90;

/** Return a grid; the head of this file says what `options` has and what it can do. */
export function createTreegrid(options) {
  return new Treegrid(options);
}

class Treegrid {
  constructor(options) {
    this.options = options;
    this.rows = new TreeRows(options.count, options.parent ?? null);
    if (this.rows.isTree) this.rows.openUpTo(options.most ?? 200);
    this.selected = -1;
    // The row that has the focus, or gets it when the grid does.
    this.active = this.rows.rows[0] ?? -1;
    this.header = new GridHeader((...how) => this.sort(...how), () => this.focusRow(this.at));
    this.body = el("div", {
      class: "grid-body", role: "rowgroup", onclick: (event) => this.clicked(event),
      onkeydown: (event) => this.pressed(event), onfocusin: ({ target }) => this.entered(target),
    });
    this.box = el(
      "div",
      {
        class: "grid", role: this.rows.isTree ? "treegrid" : "grid", "aria-label": options.label,
      },
      el("div", { role: "rowgroup", class: "grid-top" }, this.header.element), this.body,
    );
    this.empty = el("p", { class: "grid-empty hint", text: "No row matches the search" });
    this.rest = el("p", { class: "grid-rest" });
    this.element = el("div", { class: "grid-frame" }, this.box, this.empty, this.rest);
    this.toolbar = createTools(this, options.columns, options.label);
    this.tools = this.toolbar.element;
    this.window = new RowWindow(this.rows, {
      box: this.box, body: this.body, make: () => this.newNode(),
      fill: (node, row) => this.fill(node, row), changed: () => this.draw(),
      describe: (node, row, at) => this.describe(node, row, at),
    });
    this.layOut();
  }

  // What panels call.

  select(row, reveal = false) {
    this.selected = row;
    if (row < 0 || !reveal) {
      this.draw();
      return;
    }
    if (this.rows.index[row] < 0) this.rows.reveal(row);
    this.active = row;
    this.window.scrollTo(this.at);
    this.draw();
  }

  showInDocument() {
    this.window.showInDocument(this.selected);
  }

  filter(matches) {
    const { rows, selected } = this;
    rows.filter(matches);
    if (!matches && selected >= 0) rows.reveal(selected);
    if (!matches && selected >= 0) this.window.scrollTo(rows.index[selected]);
    else this.window.scroll(0);
    this.renew();
  }

  sort(id, descending = false) {
    const { columns, count } = this.options;
    const column = columns.find((each) => each.id === id);
    const values = column && Array.from({ length: count }, (_, row) => column.value(row));
    this.rows.sort(values ?? null, descending);
    this.header.mark({ id, descending });
    this.window.scroll(0);
    this.renew();
  }

  fold(rows, open) {
    this.rows.fold(rows, open);
    this.draw();
  }

  setDepth(depth) {
    this.rows.setDepth(depth);
    this.draw();
  }

  setListed(listed) {
    this.rows.setListed(listed);
    this.renew();
  }

  showColumn(column, shown) {
    column.off = !shown;
    this.layOut();
  }

  refresh() {
    this.window.measure();
    this.renew();
  }

  /** Make all cells again, in the order of their column's new values. */
  revalue() {
    const { id, descending } = this.header.sorting;
    if (id) this.sort(id, descending);
    else this.renew();
  }

  // Drawing.

  /** Make the header and the tracks of the columns that are shown. */
  layOut() {
    this.columns = this.options.columns.filter((column) => !column.off);
    const widths = this.columns.map((column) => column.width ?? column.min);
    const tracks = this.columns.map(({ grow }, at) =>
      grow ? `minmax(${widths[at]}px, ${grow}fr)` : `${widths[at]}px`);
    const { style } = this.box;
    style.setProperty("--columns", tracks.join(" "));
    style.setProperty("--columns-print", widths.map((width) => `minmax(0, ${width}fr)`).join(" "));
    style.setProperty("--width", `${widths.reduce((sum, width) => sum + width, 0)}px`);
    this.guides = Math.max(2, Math.floor((widths[0] - LEAST_NAME) / GUIDE_WIDTH));
    this.box.setAttribute("aria-colcount", widths.length);
    this.header.show(this.columns);
    this.window.clear();
    this.draw();
  }

  renew() {
    this.window.version += 1;
    this.draw();
  }

  /** The place of the active row in the list. */
  get at() {
    return this.rows.index[this.active] ?? -1;
  }

  draw() {
    const { rows, box } = this;
    if (this.at < 0) this.active = rows.nearest(this.active);
    box.classList.toggle("flat", rows.isFlat);
    box.setAttribute("aria-rowcount", rows.rows.length + 1);
    this.empty.hidden = rows.rows.length > 0;
    const unprinted = this.window.draw(this.at);
    this.rest.textContent = unprinted ? `${counted(unprinted, "more row")} not printed` : "";
    this.toolbar.update();
  }

  newNode() {
    const { isTree } = this.rows;
    return el("div", { role: "row" }, ...this.columns.map((column, at) => el("div", {
      class: cellClass(column), role: isTree && !at ? "rowheader" : "gridcell",
      "aria-colindex": at + 1,
    })));
  }

  fill(node, row) {
    const { isTree, isFlat } = this.rows;
    this.columns.forEach((column, at) => {
      const cell = node.children[at];
      const before = isTree && !at ? ["guides", "toggle", "level"] : [];
      cell.replaceChildren(
        ...before.map((name) => el("span", { class: `grid-${name}` })),
        isolated(column.cell(row, isFlat) ?? ""),
      );
      cell.title = column.hint?.(row) ?? "";
    });
  }

  /** Write what depends on folds, the filter, the selection and the focus. */
  describe(node, row, at) {
    const { rows } = this;
    const dimmed = rows.matches && !rows.matches[row] ? " dimmed" : "";
    node.className = `grid-row${dimmed} ${this.options.rowClass?.(row) ?? ""}`;
    node.setAttribute("aria-rowindex", at + 2);
    node.setAttribute("aria-selected", row === this.selected);
    node.tabIndex = row === this.active ? 0 : -1;
    if (!rows.isTree) return;
    const level = rows.levels[at];
    node.setAttribute("aria-level", level);
    node.setAttribute("aria-setsize", rows.sizes[at]);
    node.setAttribute("aria-posinset", rows.positions[at]);
    if (rows.canFold(row)) node.setAttribute("aria-expanded", rows.isOpen(row));
    else node.removeAttribute("aria-expanded");
    const [guides, , depth] = node.firstChild.children;
    const hidden = Math.max(0, level - 1 - this.guides);
    guides.style.setProperty("width", `${GUIDE_WIDTH * (level - 1 - hidden)}px`);
    depth.textContent = hidden ? `+${hidden}` : "";
  }

  // The mouse and the keyboard.

  focusRow(at) {
    const list = this.rows.rows;
    if (!list.length) return;
    this.active = list[Math.max(0, Math.min(at, list.length - 1))];
    this.window.scrollTo(this.at);
    this.draw();
    this.window.focus(this.active);
    this.window.showInDocument(this.active);
  }

  entered(target) {
    const node = target.closest(".grid-row");
    if (!node || node.row === this.active) return;
    this.active = node.row;
    this.draw();
  }

  choose(row) {
    this.selected = row;
    this.draw();
    this.options.onselect?.(row);
  }

  clicked({ target }) {
    const node = target.closest(".grid-row");
    if (!node) return;
    const { row } = node;
    this.active = row;
    if (!target.closest(".grid-toggle") || !this.rows.canFold(row)) this.choose(row);
    else {
      this.fold([row], !this.rows.isOpen(row));
      this.window.focus(row);
    }
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { at, active, rows } = this;
    const { page } = this.window;
    const moves = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page,
      Home: 0, End: rows.rows.length - 1,
    };
    const { key } = event;
    if (key === "ArrowUp" && at === 0) this.header.focus(0);
    else if (key in moves) this.focusRow(moves[key]);
    else if (key === "Enter" || key === " ") this.choose(active);
    else if (key === "ArrowRight") this.goIn(at, active);
    else if (key === "ArrowLeft") this.goOut(active);
    else if (key === "*" && !rows.isFlat) this.openSiblings(active);
    else return;
    event.preventDefault();
  }

  goIn(at, row) {
    if (this.rows.isOpen(row)) this.focusRow(at + 1);
    else if (this.rows.canFold(row)) this.fold([row], true);
    else if (this.rows.isFlat) this.box.scrollLeft += 80;
  }

  goOut(row) {
    const { rows } = this;
    if (rows.isFlat) this.box.scrollLeft -= 80;
    else if (rows.isOpen(row)) this.fold([row], false);
    else if (rows.parent[row] >= 0) this.focusRow(rows.index[rows.parent[row]]);
  }

  openSiblings(row) {
    const { rows } = this;
    const siblings = [...rows.list(rows.parent[row])];
    this.fold(siblings.filter((each) => rows.canFold(each) && !rows.isOpen(each)), true);
    this.focusRow(this.at);
  }
}

/** Return a text as an element, which ends in an ellipsis if the cell is too narrow. */
function isolated(content) {
  return typeof content === "string" && content ? el("bdi", { text: content }) : content;
}

/**
 * Return a number with a bar whose length is a share from 0 to 1: `all` is light, and `own`, the
 * part of it that is not below the row, is dark.
 */
export function barCell(text, own, all = own) {
  const percent = (share) => `${(Math.max(0, Math.min(1, share || 0)) * 100).toFixed(2)}%`;
  const style = { "--own": percent(own), "--all": percent(all) };
  return el("span", { class: "grid-figure" }, el("span", { class: "grid-bar", style }), text);
}

/** Return a text in which what is searched for is marked; `whole` ends with it and is searched. */
export function marked(text, query, whole = text) {
  const wanted = query.trim().toLowerCase();
  const lower = whole.toLowerCase();
  // A few letters become longer in lower case, so that places in it would not be those in the text.
  if (!wanted || lower.length !== whole.length) return document.createTextNode(text);
  const before = whole.length - text.length;
  const parts = [];
  let end = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
    const from = Math.max(at - before, end);
    const to = at + wanted.length - before;
    if (to <= from) continue;
    parts.push(text.slice(end, from), el("mark", { text: text.slice(from, to) }));
    end = to;
  }
  const fragment = document.createDocumentFragment();
  fragment.append(...parts, text.slice(end));
  return fragment;
}
