/** Plain tables, and the cells that several panels have. */

import { el, nameElement } from "./dom.js";

/**
 * Return a table. `head` has the titles of the columns; a title that begins with "#" is that of
 * figures, which are aligned at their end. A row is a list of texts or elements.
 */
export function plainTable(head, rows, props = {}) {
  const figures = head.map((title) => title.startsWith("#"));
  return el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": props.label },
    el("table", { class: `plain ${props.class ?? ""}` },
      el("thead", {}, el("tr", {}, ...head.map((title, index) => el("th", {
        scope: "col", class: figures[index] ? "figure" : null, text: title.replace("#", ""),
      })))),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell, index) =>
        el("td", { class: figures[index] ? "figure" : null }, asCell(cell))))))));
}

function asCell(cell) {
  return cell instanceof Node || cell === null ? cell : el("bdi", { text: cell });
}

/** Return a list of labels and texts. */
export function factList(facts) {
  return el("dl", { class: "fact-list" }, ...facts.map(([label, text]) =>
    el("div", {}, el("dt", { text: label }), el("dd", {}, asCell(text)))));
}

/** Return a name that selects what it names; a plain name if the page has no row of it. */
export function nameLink(text, store, change, origin) {
  const known = Object.values(change).some((row) => row >= 0);
  if (!known) return nameElement(text);
  return el("button", { type: "button", class: "link", onclick: () => store.select(change, origin) },
    nameElement(text));
}

/** Return a bar of a share between 0 and 1, with a text beside it. */
export function shareBar(share, text, props = {}) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: `share ${props.class ?? ""}`, title: props.title },
    el("span", { class: "share-bar", "aria-hidden": "true" }, el("span", { style: { width } })),
    el("span", { class: "share-text", text }));
}

/** Return the length of a bar on a logarithmic scale from `low` to `high`. */
export function logShare(value, low, high) {
  if (typeof value !== "number" || value <= 0) return value === "inf" || value === "nan" ? 1 : 0;
  return Math.log(value / low) / Math.log(high / low);
}
