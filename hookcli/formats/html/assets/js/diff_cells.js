/** What the pages of comparisons share: differences as bars, statuses, the first difference. */

import { el } from "./dom.js";
import { factList, logShare, shareBar } from "./tables.js";
import { figure } from "./text.js";

const LEAST = 1e-9;

/** Return a relative difference with a bar on a logarithmic scale from 1e-9 to 1. */
export function differenceBar(relative, text = figure(relative)) {
  const share = relative === null ? 0 : logShare(relative, LEAST, 1);
  return shareBar(share, text, { class: "difference" });
}

/** Return the value to sort a difference by. */
export function differenceValue(relative) {
  return typeof relative === "string" ? Infinity : relative;
}

/** Return a status as a word with its colour. */
export function statusWord(status, text = status) {
  return el("span", { class: `verdict-word is-${status}` }, el("bdi", { text }));
}

/** Return the box about the first difference with the totals below; `show` jumps to it. */
export function firstBox(first, totals, show) {
  return el("div", { class: "sections" },
    first ? el("section", { class: "error-box", "aria-label": "First difference" },
      el("h3", { text: "First difference" }), el("p", {}, el("bdi", { text: first.sentence })),
      factList(first.details),
      show ? el("button", { type: "button", text: "Show it", onclick: show }) : null) : null,
    el("p", { class: "totals" }, ...totals.map((text) => el("span", { text }))));
}
