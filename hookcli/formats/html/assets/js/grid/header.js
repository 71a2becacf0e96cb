/** The header of a grid: its columns, and what the rows are sorted by. */

import { el } from "../frame/dom.js";

const ARROWS = { none: "", ascending: "▲", descending: "▼" };

/** Return the class of the cells of a column. */
export function cellClass({ align, id }) {
  return `grid-cell cell-${id}${align === "end" ? " end" : ""}`;
}

/**
 * A row of cells: arrow keys move between them, a click or Enter sorts. `onsort(id, descending)` is
 * called with id null if the third click ends the sort, and `onleave()` if the arrow down does.
 */
export class GridHeader {
  constructor(onsort, onleave) {
    this.onsort = onsort;
    this.onleave = onleave;
    this.sorting = { id: null, descending: false };
    this.element = el("div", {
      class: "grid-head", role: "row", "aria-rowindex": 1,
      onclick: ({ target }) => this.cycle(this.place(target.closest(".grid-cell"))),
      onkeydown: (event) => this.pressed(event),
    });
  }

  /** Show these columns. */
  show(columns) {
    this.columns = columns;
    this.element.replaceChildren(...columns.map((column, at) => el(
      "div",
      {
        class: cellClass(column) + (column.value ? " sortable" : ""), role: "columnheader",
        tabindex: at ? -1 : 0, "aria-colindex": at + 1, title: column.help, data: { id: column.id },
      },
      el("span", { text: column.title }),
      el("span", { class: "grid-arrow", "aria-hidden": "true" }),
    )));
    this.mark(this.sorting);
  }

  /** Show what the rows are sorted by. */
  mark(sorting) {
    this.sorting = sorting;
    this.columns.forEach(({ id, value }, at) => {
      const cell = this.element.children[at];
      const order = id !== sorting.id ? "none" : sorting.descending ? "descending" : "ascending";
      if (value) cell.setAttribute("aria-sort", order);
      cell.lastChild.textContent = ARROWS[order];
    });
  }

  place(cell) {
    return [...this.element.children].indexOf(cell);
  }

  /** Move the focus to a cell. */
  focus(at) {
    const cells = [...this.element.children];
    if (!cells[at]) return;
    for (const cell of cells) cell.tabIndex = cell === cells[at] ? 0 : -1;
    cells[at].focus();
  }

  // The second click reverses the order, the third ends it.
  cycle(at) {
    const { id, value, descending = false } = this.columns[at] ?? {};
    if (!value) return;
    if (this.sorting.id !== id) this.onsort(id, descending);
    else if (this.sorting.descending === descending) this.onsort(id, !descending);
    else this.onsort(null);
  }

  pressed(event) {
    const at = this.place(event.target);
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.columns.length - 1 };
    if (event.key in moves) this.focus(moves[event.key]);
    else if (event.key === "ArrowDown") this.onleave();
    else if (event.key === "Enter" || event.key === " ") this.cycle(at);
    else return;
    event.preventDefault();
  }
}
