/** Plain tables, lists of facts, links and columns that several panels have. */

import { el, nameElement } from "./dom.js";
import { figure, integer } from "./text.js";
import { barCell } from "../grid/treegrid.js";

/**
 * Return a table. `head` has the titles of the columns; a title that begins with "#" is that of
 * figures, which are aligned at their end. A row is a list of texts or elements.
 */
export function plainTable(label, head, rows) {
  const kind = head.map((title) => (title.startsWith("#") ? "end" : null));
  return el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, ...head.map((title, at) =>
        el("th", { scope: "col", class: kind[at], text: title.replace("#", "") })))),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell, at) =>
        el("td", { class: kind[at] }, isolated(cell))))))));
}

function isolated(content) {
  return typeof content === "string" ? el("bdi", { text: content }) : content;
}

/** Return a section with a title and what is not null of its content. */
export function titled(title, ...content) {
  return el("section", {}, el("h3", {}, title), ...content);
}

/** Return a list of labels and texts. */
export function factList(facts) {
  return el("dl", { class: "fact-list" }, ...facts.map(([label, content]) =>
    el("div", {}, el("dt", { text: label }), el("dd", {}, isolated(content)))));
}

/** Return a button that looks like a link. */
export function linkButton(content, onclick) {
  return el("button", { type: "button", class: "link", onclick }, content);
}

/** Return a name that selects what it names; a plain name if `change` has no row. */
export function nameLink(text, store, change, origin) {
  const name = nameElement(text);
  const known = Object.values(change).some((row) => row >= 0);
  return known ? linkButton(name, () => store.select(change, origin)) : name;
}

/** Return a place in the user's source. */
export function placeCode(text) {
  return text ? el("code", { class: "place" }, el("bdi", { text })) : null;
}

/** Append rows to a list: the first `most`, and a button that appends the others. */
export function appendSome(list, items, most, make) {
  list.append(...items.slice(0, most).map(make));
  const left = items.slice(most);
  if (!left.length) return;
  const more = el("li", { class: "more" }, el("button", {
    type: "button", text: `Show more of ${integer(left.length)} left`,
    onclick: () => {
      more.remove();
      appendSome(list, left, 5 * most, make);
    },
  }));
  list.append(more);
}

/** Return a column of a grid with texts. */
export function textsColumn(id, title, get, more = {}) {
  const cell = (row) => isolated(get(row));
  return { id, title, min: 110, grow: 1, value: get, cell, hint: get, ...more };
}

/** Return a column of a grid with figures. */
export function figuresColumn(id, title, values, more = {}) {
  return {
    id, title, width: 105, align: "end", descending: true, value: (row) => sortable(values[row]),
    cell: (row) => figure(values[row]), ...more,
  };
}

/** Return a figure with a bar whose length does not depend on that of the text. */
export function evenBar(text, share) {
  const cell = barCell(text, share);
  cell.classList.add("even");
  return cell;
}

/** Return the column with the numbers of steps. */
export function stepsColumn(steps) {
  return figuresColumn("step", "Step", steps, {
    width: 80, descending: false, cell: (row) => integer(steps[row]),
  });
}

/** Return a column of figures with bars on a logarithmic scale from `low` to `high`. */
export function logColumn(id, title, values, [low, high], more = {}) {
  const textOf = more.text ?? ((row) => figure(values[row]));
  const cell = (row) => evenBar(textOf(row), logShare(values[row], low, high));
  return figuresColumn(id, title, values, { width: 138, ...more, cell });
}

/** Return what a figure is sorted by. */
export function sortable(value) {
  if (typeof value !== "string") return value;
  return { inf: Infinity, nan: Infinity, "-inf": -Infinity }[value] ?? null;
}

/** Return the length of a bar on a logarithmic scale from `low` to `high`, from 0 to 1. */
export function logShare(value, low, high) {
  if (typeof value === "string") return value === "inf" || value === "nan" ? 1 : 0;
  return value > 0 ? Math.max(0.02, Math.log(value / low) / Math.log(high / low)) : 0;
}
