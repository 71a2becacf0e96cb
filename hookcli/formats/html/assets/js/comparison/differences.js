/** What the pages of comparisons share: columns, statuses, and what is known of the first one. */

import { el } from "../frame/dom.js";
import { gridPanel, rowSwitch } from "../grid/grid_panel.js";
import { factList, logColumn, textsColumn } from "../frame/tables.js";

const MANY = 60;
const FINE = ["same", "close", "unknown"];
const RANGE = [1e-9, 1];

/** Return a status as a word with its colour. */
export function statusWord(status, text = status) {
  return el("span", { class: `status-word is-${status}` }, el("bdi", { text }));
}

/** Return a column with relative differences. */
export function differenceColumn(id, title, relative, text) {
  return logColumn(id, title, relative, RANGE, {
    text, help: "The difference divided by the size in A; bars from 1e-9 to 1, logarithmic",
  });
}

/** Return the column with the status of each row, in the words of `words`. */
export function verdictColumn(status, words = status, more = {}) {
  return textsColumn("verdict", "Verdict", (row) => words.get(row), {
    min: 130, ...more, cell: (row) => statusWord(status.get(row), words.get(row)),
  });
}

/** Append a grid with a switch that shows only rows that differ; see `gridPanel`. */
export function differenceGrid(host, { status, found, ...options }) {
  const differs = (row) => !FINE.includes(status.get(row));
  const isMixed = new Set(status.at.map((at) => FINE.includes(status.texts[at]))).size > 1;
  const only = rowSwitch("only differences", options.count, differs,
    () => panel.update({ origin: null }), isMixed && options.count > MANY);
  const panel = gridPanel(host, { ...options, matches: () => only.matches(found()) });
  only.element.hidden = !isMixed;
  panel.grid.tools.prepend(only.element);
  return panel;
}

/** Return what is known of the first difference beside its sentence in the header, and totals. */
export function firstSection({ first, totals }) {
  return el("div", { class: "sections" },
    first?.details.length ? el("section", { class: "error-box", "aria-label": "First difference" },
      el("h3", { text: "The first difference" }), factList(first.details)) : null,
    totals.length ? el("p", { class: "totals muted" }, ...totals.map((text) =>
      el("span", {}, el("bdi", { text })))) : null);
}
