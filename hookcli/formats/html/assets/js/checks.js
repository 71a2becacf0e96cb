/** The panel of checks: what each rule found, the failures first, by outcome and rule. */

import { el, nameElement } from "./dom.js";
import { nameLink } from "./tables.js";
import { counted, integer } from "./text.js";

const OUTCOMES = [
  ["not judged", "not judged"], ["fail", "failed"], ["warning", "warnings"], ["skip", "skipped"],
  ["pass", "passed"],
];
const BAD = ["not judged", "fail", "warning"];
const FIRST = 60;
const MORE = 300;
const OPEN = 400;

// The outcomes that the chips show, and the groups that the user opened: kept between records.
const chosenOutcomes = new Set();
const toggled = new Map();

/** Return the checks of the page: those of all records of a training, else those of the report. */
function checksOf(store) {
  const { page, record } = store;
  if (!page.run) return record?.checks ?? [];
  page.checks ??= [
    ...page.run.checks,
    ...page.records.flatMap((other, index) => other.checks.map((check) => ({ ...check, record: index }))),
  ].sort((a, b) => rankOf(a) - rankOf(b));
  return page.checks;
}

function rankOf(check) {
  return OUTCOMES.findIndex(([outcome]) => outcome === check.outcome);
}

export const checksPanel = {
  id: "checks",
  title: "Checks",
  available: (store) => checksOf(store).length > 0 || errorsOf(store).length > 0,
  count: (store) => checksOf(store).filter((check) => BAD.includes(check.outcome)).length,
  create(host, store) {
    const checks = checksOf(store);
    const chips = el("div", { class: "chips", role: "group", "aria-label": "Outcomes" });
    const groups = el("div", { class: "finding-groups" });
    host.append(...errorsOf(store).map((error) => errorBox(error, store)), chips, groups);
    let rows = [];

    function draw() {
      const found = checks.filter((check) => matchesQuery(check, store));
      drawChips(chips, found, draw);
      const shown = found.filter((check) => !chosenOutcomes.size || chosenOutcomes.has(check.outcome));
      rows = [];
      let open = 0;
      const parts = grouped(shown).map((group) => {
        const bad = chosenOutcomes.size > 0 || BAD.includes(group[0].outcome);
        const isOpen = toggled.get(keyOf(group[0])) ?? (bad && open < OPEN);
        if (isOpen) open += Math.min(group.length, FIRST);
        return groupElement(group, isOpen, store, rows);
      });
      groups.replaceChildren(...parts);
      if (!parts.length) groups.append(el("p", { class: "hint", text: "No check matches the search" }));
    }

    function mark(scroll) {
      const { layer, parameter } = store.selection;
      let first = null;
      for (const { check, element } of rows) {
        const same = inRecord(check, store) &&
          (parameter >= 0 ? check.parameter === parameter : layer >= 0 && check.layer === layer);
        element.classList.toggle("selected", same);
        if (same) first ??= element;
      }
      if (scroll) first?.scrollIntoView({ block: "nearest" });
    }

    return {
      update({ type, origin }) {
        if (type !== "select") draw();
        mark(type !== "filter" && origin !== "checks");
      },
    };
  },
};

function inRecord(check, store) {
  return check.record === undefined || check.record === store.recordIndex;
}

function errorsOf(store) {
  const errors = store.page.records.map((record, index) => ({ ...record.raw.error, record: index }));
  const own = errors.filter((error) => error.type);
  return store.page.run?.error ? [store.page.run.error, ...own] : own;
}

function matchesQuery(check, store) {
  if (!store.filtered) return true;
  const { text, type, status } = store.query;
  const words = text.trim().toLowerCase();
  const named = `${check.target ?? ""} ${check.rule} ${check.message ?? ""}`.toLowerCase();
  if (words && !named.includes(words)) return false;
  if (!type && !status) return true;
  const { layers } = (store.page.records[check.record ?? store.recordIndex]);
  const layer = check.layer ?? -1;
  return layer >= 0 && (!type || layers.type.get(layer) === type) &&
    (!status || layers.status.get(layer).split(" ").includes(status));
}

function drawChips(chips, found, draw) {
  const focused = document.activeElement?.dataset?.outcome;
  const counts = OUTCOMES.map(([outcome, label]) =>
    [outcome, label, found.filter((check) => check.outcome === outcome).length]);
  chips.replaceChildren(...counts.filter(([outcome, , count]) => count || chosenOutcomes.has(outcome))
    .map(([outcome, label, count]) => el("button", {
      type: "button", class: `chip outcome-${outcome.replace(" ", "-")}`, data: { outcome },
      "aria-pressed": String(chosenOutcomes.has(outcome)),
      onclick: () => {
        if (!chosenOutcomes.delete(outcome)) chosenOutcomes.add(outcome);
        draw();
      },
    }, `${label} `, el("span", { class: "chip-count", text: integer(count) }))));
  if (focused) chips.querySelector(`[data-outcome="${focused}"]`)?.focus();
}

function keyOf(check) {
  return `${check.outcome} ${check.rule} ${check.passed_over ?? ""}`;
}

function grouped(checks) {
  const groups = new Map();
  for (const check of checks) {
    const key = keyOf(check);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(check);
  }
  return [...groups.values()];
}

function groupElement(group, isOpen, store, rows) {
  const [first] = group;
  const alike = group.every((check) => check.advice === first.advice);
  const list = el("ul", { class: "findings" });
  const word = OUTCOMES[rankOf(first)][0];
  const element = el("details", { class: `finding-group outcome-${word.replace(" ", "-")}` },
    el("summary", {},
      el("span", { class: "outcome", text: word }), " ",
      el("code", { class: "rule", text: first.rule }),
      group.length > 1 ? el("span", { class: "muted", text: ` ${counted(group.length, "target")}` }) : null,
      first.passed_over ? el("span", { class: "muted", text: ` · ${first.passed_over}` }) : null),
    BAD.includes(word) && alike && first.advice && group.length > 1 ? advice(first) : null,
    list);
  let filled = 0;
  function fill(limit) {
    const next = group.slice(filled, filled + limit).map((check) => {
      const row = findingRow(check, store, !alike || group.length === 1);
      rows.push({ check, element: row });
      return row;
    });
    filled += next.length;
    list.append(...next);
    if (filled >= group.length) return;
    const more = el("li", { class: "more-row" }, el("button", {
      type: "button", text: `Show ${integer(Math.min(MORE, group.length - filled))} of ${integer(group.length - filled)} more`,
      onclick: () => {
        more.remove();
        fill(MORE);
      },
    }));
    list.append(more);
  }
  if (isOpen) fill(FIRST);
  element.open = isOpen;
  element.addEventListener("toggle", () => {
    if (element.open && !filled) fill(FIRST);
    if (element.open !== isOpen || toggled.has(keyOf(first))) toggled.set(keyOf(first), element.open);
  });
  return element;
}

function advice(check) {
  return el("p", { class: "advice" }, "try: ", el("bdi", { text: check.advice }));
}

function findingRow(check, store, withAdvice) {
  const facts = [
    check.value === undefined ? null : `value ${check.value}`,
    check.limit === undefined ? null : `limit ${check.limit}`,
    check.step === undefined ? null : `step ${integer(check.step)}`,
    check.reason === undefined ? null : `reason: ${check.reason}`,
  ].filter(Boolean);
  return el("li", { class: "finding" },
    el("p", {}, targetLink(check, store), " ", el("bdi", { class: "message", text: check.message ?? "" })),
    facts.length || check.place
      ? el("p", { class: "finding-facts" }, ...facts.map((text) => el("span", {}, el("bdi", { text }))),
        check.place ? el("code", { class: "place" }, el("bdi", { text: check.place })) : null)
      : null,
    withAdvice && check.advice && BAD.includes(check.outcome) ? advice(check) : null);
}

/** Return the target of a check as a button that selects it, in its record. */
function targetLink(check, store) {
  const name = check.target ?? (check.outcome === "pass" || check.outcome === "skip" ? "" : "the model");
  const change = (check.parameter ?? -1) >= 0 ? { parameter: check.parameter } : { layer: check.layer ?? -1 };
  if (Math.max(...Object.values(change)) < 0) return nameElement(name);
  if (check.step !== undefined) change.step = check.step;
  return el("button", {
    type: "button", class: "link",
    onclick: () => {
      if (check.record !== undefined) store.showRecord(check.record);
      store.select(change, "checks");
    },
  }, nameElement(name));
}

function errorBox(error, store) {
  const layer = error.layer ?? -1;
  return el("section", { class: "error-box", "aria-label": "Error" },
    el("h3", {}, el("bdi", { text: error.type }), " in ", el("bdi", { text: error.phase }),
      error.target ? " of " : null, error.target ? nameLink(error.target, store, { layer }, "checks") : null),
    el("pre", {}, el("bdi", { text: error.message ?? "" })),
    error.inputs ? el("p", {}, "inputs: ", el("code", { text: error.inputs })) : null,
    error.place ? el("p", {}, "at ", el("code", { class: "place" }, el("bdi", { text: error.place }))) : null,
    error.hook ? el("p", {}, el("bdi", { text: error.hook }), " ", el("code", { class: "place", text: error.hook_place })) : null,
    ...[error.hook_advice, error.hint].filter(Boolean).map((text) => advice({ advice: text })));
}
