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
 * grid.select(row, reveal)      show a row as selected, -1: none; `reveal` unfolds and scrolls to it
 * grid.filter(matches)          a Uint8Array by row, null: all; then all cells are made again
 * grid.sort(id, descending)     id null: none
 * grid.refresh()                make all cells again, and fit them into the element's size
 * grid.fold(rows, open)         open or close some rows
 * grid.setDepth(depth)          open the rows above a depth, and close all others
 * grid.setListed(listed)        show a tree without its levels
 * grid.rows                     a TreeRows: grid.rows.rows are the rows shown
 *
 * `barCell(text, own, all)` is a number with a bar; `marked(text, query)` marks what is searched for.
 */

import { el } from "./dom.js";
import { integer } from "./text.js";
import { TreeRows } from "./tree_rows.js";

const ROW_HEIGHT = 28;
const OVERSCAN = 8;
// Browsers limit the height of an element: Firefox to about 17 million px, others to 33 million.
const TALLEST = 8e6;
const ON_PAPER = 500;
const SPARE_NODES = 60;
const GUIDE_WIDTH = 15;
const LEAST_NAME = 90;
// The bar with the tabs covers the top of the window.
const COVERED = 64;

/** Return a grid; the head of this file says what `options` has and what it can do. */
export function createTreegrid(options) {
  const rows = new TreeRows(options.count, options.parent ?? null);
  if (rows.isTree) rows.openUpTo(options.most ?? 200);
  const shownIds = new Set(options.columns.filter((column) => !column.off).map(({ id }) => id));
  const nodes = new Map();
  const spare = [];
  let columns = [];
  let mostGuides = 0;
  let sorting = { id: null, descending: false };
  let selected = -1;
  let active = rows.rows[0] ?? -1;
  let version = 0;
  // What layout would say is kept here: to read it after a change costs as much as a new layout.
  let view = 0;
  let scrolled = 0;
  let printing = matchMedia("print").matches;

  const head = el("div", { class: "grid-head", role: "row", "aria-rowindex": 1, onkeydown: headKey });
  const body = el("div", {
    class: "grid-body", role: "rowgroup", onclick: clicked, onkeydown: bodyKey, onfocusin: focused,
  });
  const empty = el("p", { class: "grid-empty hint", text: "No row matches the search" });
  const rest = el("p", { class: "grid-rest" });
  const box = el(
    "div",
    { class: "grid", role: rows.isTree ? "treegrid" : "grid", "aria-label": options.label },
    el("div", { role: "rowgroup", class: "grid-top" }, head), body,
  );
  const element = el("div", { class: "grid-frame" }, box, empty, rest);
  const grid = { element, rows, select, filter, sort, refresh, fold, setDepth, setListed };
  grid.tools = el(
    "div", { class: "grid-tools", role: "group", "aria-label": `View of ${options.label}` },
    ...(rows.isTree ? foldTools(grid) : []), columnTool(),
  );

  box.addEventListener("scroll", () => {
    scrolled = box.scrollTop;
    draw();
  }, { passive: true });
  new ResizeObserver(() => {
    measure();
    draw();
  }).observe(box);
  matchMedia("print").addEventListener("change", ({ matches }) => {
    printing = matches;
    draw();
  });
  layOut();

  /** Make the header and the tracks of the columns that are shown. */
  function layOut() {
    columns = options.columns.filter((column) => shownIds.has(column.id));
    const width = (column) => column.width ?? column.min;
    const tracks = columns.map((column) =>
      column.grow ? `minmax(${width(column)}px, ${column.grow}fr)` : `${width(column)}px`);
    const printed = columns.map((column) => `minmax(0, ${width(column)}fr)`);
    box.style.setProperty("--columns", tracks.join(" "));
    box.style.setProperty("--columns-print", printed.join(" "));
    const least = columns.reduce((sum, column) => sum + width(column), 0);
    box.style.setProperty("--width", `${least}px`);
    mostGuides = Math.max(2, Math.floor((width(columns[0]) - LEAST_NAME) / GUIDE_WIDTH));
    box.setAttribute("aria-colcount", columns.length);
    head.replaceChildren(...columns.map(headCell));
    for (const node of nodes.values()) node.remove();
    nodes.clear();
    spare.length = 0;
    markSorting();
    renew();
  }

  function headCell(column, at) {
    const sortable = Boolean(column.value);
    const cell = el("div", {
      class: cellClass(column), role: "columnheader", tabindex: at ? -1 : 0, title: column.help,
      "aria-colindex": at + 1, onclick: sortable ? () => cycle(column) : null, data: { id: column.id },
    }, el("span", { text: column.title }), el("span", { class: "grid-arrow", "aria-hidden": "true" }));
    if (sortable) cell.classList.add("sortable");
    return cell;
  }

  function markSorting() {
    for (const [at, cell] of [...head.children].entries()) {
      const sorted = columns[at].id === sorting.id;
      const order = !sorted ? "none" : sorting.descending ? "descending" : "ascending";
      if (columns[at].value) cell.setAttribute("aria-sort", order);
      cell.lastChild.textContent = { none: "", ascending: "▲", descending: "▼" }[order];
    }
  }

  // The second click reverses the order, the third ends it.
  function cycle({ id, descending = false }) {
    if (sorting.id !== id) sort(id, descending);
    else if (sorting.descending === descending) sort(id, !descending);
    else sort(null);
  }

  function sort(id, descending = false) {
    sorting = { id, descending };
    const column = options.columns.find((each) => each.id === id);
    const values = column ? Array.from({ length: options.count }, (_, row) => column.value(row)) : null;
    rows.sort(values, descending);
    markSorting();
    renew();
    scroll(0);
  }

  function filter(matches) {
    rows.filter(matches);
    if (!matches && selected >= 0) rows.reveal(selected);
    renew();
    if (!matches && selected >= 0) scrollTo(selected);
    else scroll(0);
  }

  function select(row, reveal = false) {
    selected = row;
    if (row >= 0 && reveal) {
      const shown = rows.index[row] >= 0;
      if (!shown) rows.reveal(row);
      activate(row);
      scrollTo(row);
      draw();
      showInWindow(row);
    } else draw();
  }

  function fold(list, open) {
    rows.fold(list, open);
    draw();
  }

  function setDepth(depth) {
    rows.setDepth(depth);
    draw();
  }

  function setListed(listed) {
    rows.setListed(listed);
    renew();
  }

  function refresh() {
    measure();
    scrolled = box.scrollTop;
    renew();
  }

  function renew() {
    version += 1;
    draw();
  }

  // Positions. A body that would be too tall is compressed: scrolling moves by more than one pixel.

  function measure() {
    view = (parseFloat(getComputedStyle(box).maxHeight) || innerHeight) - ROW_HEIGHT;
  }

  function extent() {
    const full = rows.rows.length * ROW_HEIGHT;
    const height = Math.min(full, TALLEST);
    const ratio = height > view ? (full - view) / (height - view) : 1;
    return { full, height, ratio };
  }

  function scrollTo(row) {
    const at = rows.index[row];
    if (at < 0) return;
    const { ratio, full } = extent();
    const top = at * ROW_HEIGHT;
    const offset = scrolled * ratio;
    if (top >= offset && top + ROW_HEIGHT <= offset + view) return;
    const near = Math.abs(top - offset - view / 2) < view;
    const target = !near ? top - (view - ROW_HEIGHT) / 2
      : top < offset ? top : top + ROW_HEIGHT - view;
    scroll(Math.max(0, Math.min(target, full - view)) / ratio);
  }

  function scroll(to) {
    if (to === scrolled) return;
    body.style.setProperty("height", `${extent().height}px`);
    box.scrollTop = to;
    scrolled = box.scrollTop;
    draw();
  }

  // Drawing.

  function draw() {
    const total = rows.rows.length;
    if (active < 0 || rows.index[active] < 0) active = rows.nearest(active);
    const { height, ratio } = extent();
    const top = Math.max(0, Math.min(scrolled, height - view));
    box.classList.toggle("flat", rows.isFlat);
    box.setAttribute("aria-rowcount", total + 1);
    body.style.setProperty("height", `${height}px`);
    empty.hidden = total > 0;
    const offset = top * ratio;
    const shift = top - offset;
    let from = Math.max(0, Math.floor(offset / ROW_HEIGHT) - OVERSCAN);
    let to = Math.min(total, Math.ceil((offset + view) / ROW_HEIGHT) + OVERSCAN);
    if (printing) [from, to] = [0, Math.min(total, ON_PAPER)];
    rest.textContent = printing && total > to
      ? `${integer(total - to)} more rows are not printed` : "";
    const inside = body.contains(document.activeElement);
    const wanted = [];
    for (let at = from; at < to; at += 1) wanted.push(at);
    const focus = active < 0 ? -1 : rows.index[active];
    if (focus >= 0 && focus < from) wanted.unshift(focus);
    if (focus >= to) wanted.push(focus);
    recycle(new Set(wanted.map((at) => rows.rows[at])));
    place(wanted.map((at) => nodeAt(at, shift)));
    if (inside && !body.contains(document.activeElement)) {
      nodes.get(active)?.focus({ preventScroll: true });
    }
    grid.onchange?.();
  }

  function recycle(kept) {
    for (const [row, node] of nodes) {
      if (kept.has(row)) continue;
      nodes.delete(row);
      spare.push(node);
    }
  }

  /** Put nodes into the order of their rows; the node with the focus is not moved. */
  function place(ordered) {
    for (const node of spare.splice(SPARE_NODES)) node.remove();
    for (const node of spare) node.hidden = true;
    let next = body.firstChild;
    for (const node of ordered) {
      while (next?.hidden) next = next.nextSibling;
      if (node === next) next = next.nextSibling;
      else if (node.contains(document.activeElement)) {
        while (next !== node) {
          const other = next;
          next = next.nextSibling;
          body.append(other);
        }
        next = node.nextSibling;
      } else body.insertBefore(node, next);
    }
  }

  function nodeAt(at, shift) {
    const row = rows.rows[at];
    let node = nodes.get(row);
    if (!node) {
      node = spare.pop() ?? newNode();
      node.hidden = false;
      node.row = row;
      nodes.set(row, node);
      node.version = -1;
    }
    if (node.version !== version) fill(node, row);
    node.style.setProperty("top", `${at * ROW_HEIGHT + shift}px`);
    describe(node, row, at);
    return node;
  }

  function newNode() {
    const cells = columns.map((column, at) =>
      el("div", { class: cellClass(column), role: "gridcell", "aria-colindex": at + 1 }));
    const node = el("div", { role: "row" }, ...cells);
    if (rows.isTree) cells[0].setAttribute("role", "rowheader");
    return node;
  }

  function fill(node, row) {
    node.version = version;
    columns.forEach((column, at) => {
      const cell = node.children[at];
      const content = column.cell(row, rows.isFlat) ?? "";
      if (at === 0 && rows.isTree) {
        cell.replaceChildren(
          el("span", { class: "grid-guides" }), el("span", { class: "grid-toggle", "aria-hidden": "true" }),
          el("span", { class: "grid-level" }), content);
      } else cell.replaceChildren(content);
      const hint = column.hint?.(row);
      if (hint) cell.title = hint;
      else cell.removeAttribute("title");
    });
  }

  /** Write what depends on folds, the filter, the selection and the focus. */
  function describe(node, row, at) {
    const dimmed = rows.matches && !rows.matches[row] ? " dimmed" : "";
    node.className = `grid-row${dimmed} ${options.rowClass?.(row) ?? ""}`;
    node.setAttribute("aria-rowindex", at + 2);
    node.setAttribute("aria-selected", row === selected);
    node.tabIndex = row === active ? 0 : -1;
    if (!rows.isTree) return;
    const level = rows.levels[at];
    node.setAttribute("aria-level", level);
    node.setAttribute("aria-setsize", rows.sizes[at]);
    node.setAttribute("aria-posinset", rows.positions[at]);
    if (rows.canFold(row)) node.setAttribute("aria-expanded", rows.isOpen(row));
    else node.removeAttribute("aria-expanded");
    const [guides, , depth] = node.firstChild.children;
    guides.style.setProperty("width", `${GUIDE_WIDTH * Math.min(level - 1, mostGuides)}px`);
    depth.textContent = level - 1 > mostGuides ? `+${level - 1 - mostGuides}` : "";
  }

  // The mouse and the keyboard.

  function activate(row) {
    active = row;
  }

  function focusRow(at) {
    const row = rows.rows[Math.max(0, Math.min(at, rows.rows.length - 1))];
    if (row === undefined) return;
    activate(row);
    scrollTo(row);
    draw();
    nodes.get(row).focus({ preventScroll: true });
    showInWindow(row);
  }

  /** Scroll the window to a row in view of the grid, of which a part can be out of the window. */
  function showInWindow(row) {
    if (printing || !nodes.has(row)) return;
    const { top, bottom } = nodes.get(row).getBoundingClientRect();
    if (bottom > innerHeight) scrollBy(0, bottom - innerHeight + ROW_HEIGHT);
    else if (top < COVERED && bottom > top) scrollBy(0, top - COVERED - ROW_HEIGHT);
  }

  function focused(event) {
    const node = event.target.closest(".grid-row");
    if (!node || node.row === active) return;
    activate(node.row);
    draw();
  }

  function choose(row) {
    selected = row;
    draw();
    options.onselect?.(row);
  }

  function clicked(event) {
    const node = event.target.closest(".grid-row");
    if (!node) return;
    activate(node.row);
    if (event.target.closest(".grid-toggle") && rows.canFold(node.row)) {
      fold([node.row], !rows.isOpen(node.row));
      node.focus({ preventScroll: true });
    } else choose(node.row);
  }

  function bodyKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || active < 0) return;
    const at = rows.index[active];
    const page = Math.max(1, Math.floor(view / ROW_HEIGHT) - 1);
    const moves = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page,
      Home: 0, End: rows.rows.length - 1,
    };
    const { key } = event;
    if (key === "ArrowUp" && at === 0) headFocus(0);
    else if (key in moves) focusRow(moves[key]);
    else if (key === "Enter" || key === " ") choose(active);
    else if (key === "ArrowRight") openOrEnter(at);
    else if (key === "ArrowLeft") closeOrLeave();
    else if (key === "*" && !rows.isFlat) {
      const siblings = rows.list(rows.parent[active]);
      fold([...siblings].filter((row) => rows.canFold(row) && !rows.isOpen(row)), true);
      focusRow(rows.index[active]);
    } else return;
    event.preventDefault();
  }

  function openOrEnter(at) {
    if (rows.isOpen(active)) focusRow(at + 1);
    else if (rows.canFold(active)) fold([active], true);
    else if (rows.isFlat) box.scrollLeft += 80;
  }

  function closeOrLeave() {
    if (rows.isFlat) box.scrollLeft -= 80;
    else if (rows.isOpen(active)) fold([active], false);
    else if (rows.parent[active] >= 0) focusRow(rows.index[rows.parent[active]]);
  }

  function headKey(event) {
    const at = [...head.children].indexOf(event.target);
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: columns.length - 1 };
    if (event.key in moves) headFocus(moves[event.key]);
    else if (event.key === "ArrowDown") focusRow(rows.index[active]);
    else if ((event.key === "Enter" || event.key === " ") && columns[at]?.value) cycle(columns[at]);
    else return;
    event.preventDefault();
  }

  function headFocus(at) {
    const cell = head.children[at];
    if (!cell) return;
    for (const other of head.children) other.tabIndex = other === cell ? 0 : -1;
    cell.focus();
  }

  function columnTool() {
    const boxes = options.columns.slice(1).map((column) =>
      el("label", {}, el("input", {
        type: "checkbox", checked: shownIds.has(column.id),
        onchange: ({ target }) => {
          if (target.checked) shownIds.add(column.id);
          else shownIds.delete(column.id);
          layOut();
        },
      }), column.title));
    const menu = el(
      "details", {
        class: "grid-columns",
        onkeydown: (event) => {
          if (event.key !== "Escape") return;
          menu.open = false;
          menu.firstChild.focus();
        },
        onfocusout: ({ relatedTarget }) => {
          if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
        },
      },
      el("summary", { text: "Columns" }), el("div", {}, ...boxes),
    );
    return menu;
  }

  return grid;
}

function cellClass({ align, id }) {
  return `grid-cell cell-${id}${align === "end" ? " end" : ""}`;
}

/** Return the buttons that fold a tree. */
function foldTools(grid) {
  const { rows } = grid;
  const lowest = rows.roots.length === 1 ? 1 : 0;
  const button = (text, label, onclick) =>
    el("button", { type: "button", title: label, "aria-label": label, text, onclick });
  const depth = el("span", { class: "grid-depth" });
  const less = button("−", "Show a level less", () => grid.setDepth(rows.openDepth - 1));
  const more = button("+", "Show a level more", () => grid.setDepth(rows.openDepth + 1));
  const list = el("input", { type: "checkbox", onchange: () => grid.setListed(list.checked) });
  grid.onchange = () => {
    depth.textContent = `Depth ${rows.openDepth} of ${rows.deepest}`;
    less.disabled = rows.openDepth === 0;
    more.disabled = rows.openDepth === rows.deepest;
  };
  return [
    button("Expand all", "Expand all rows", () => grid.setDepth(rows.deepest)),
    button("Collapse all", "Collapse all rows", () => grid.setDepth(lowest)),
    el("span", { class: "grid-depths" }, less, depth, more),
    el("label", { title: "Show all rows without levels, to sort them" }, list, "As a list"),
  ];
}

/**
 * Return a number with a bar whose length is a share from 0 to 1: `all` is light, and `own`, the part
 * of it that is not below the row, is dark.
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
