/** The panel of checks: what each rule found, the failures first, by outcome and rule. */

import { el, nameElement } from "./frame/dom.js";
import { appendSome, factList, linkButton, nameLink, placeCode } from "./frame/tables.js";
import { counted, integer } from "./frame/text.js";

const OUTCOMES = ["fail", "warning", "not judged", "skip", "pass"];
const WORDS = { fail: "failed", warning: "warnings", skip: "skipped", pass: "passed" };
const BAD = OUTCOMES.slice(0, 3);
const FIRST = 30;
const MOST_OPEN = 150;

// What the user chose and opened, kept when another record is shown.
const chosenOutcomes = new Set();
const openGroups = new Map();

export const checksPanel = {
  id: "checks",
  title: "Checks",
  available: (store) => checksOf(store).length > 0 || errorsOf(store).length > 0,
  stepNote: () => "checks are about all steps",
  count: (store) => checksOf(store).filter(({ outcome }) => BAD.includes(outcome)).length,
  create(host, store) {
    const checks = checksOf(store);
    const chips = el("div", { class: "chips", role: "group", "aria-label": "Outcomes" });
    const groups = el("div", { class: "sections" });
    host.append(...errorsOf(store).map((error) => errorBox(error, store)), chips, groups);
    let query = null;

    function draw() {
      const found = checks.filter((check) => matchesQuery(check, store));
      drawChips(chips, found, draw);
      const shown = chosenOutcomes.size
        ? found.filter(({ outcome }) => chosenOutcomes.has(outcome)) : found;
      let open = 0;
      const parts = grouped(shown).map((group) => {
        const wanted = chosenOutcomes.size > 0 || BAD.includes(group[0].outcome);
        const isOpen = openGroups.get(keyOf(group[0])) ?? (wanted && open < MOST_OPEN);
        open += isOpen ? Math.min(group.length, FIRST) : 0;
        return groupElement(group, isOpen, store);
      });
      groups.replaceChildren(...parts);
      if (!parts.length && checks.length) groups.append("No check matches the search");
      query = store.query;
    }

    return {
      update({ origin }) {
        if (query !== store.query) draw();
        markSelected(groups, store, origin !== "checks");
      },
    };
  },
};

/** Return the checks of the report; on the page of a training those of all records. */
function checksOf({ page, record }) {
  const owner = page.run ? page : record;
  if (!owner) return [];
  owner.sortedChecks ??= (page.run ? allChecks(page) : record.checks)
    .toSorted((a, b) => OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome));
  return owner.sortedChecks;
}

function allChecks({ run, records }) {
  return records.reduce((all, { checks }, at) =>
    all.concat(checks.map((check) => ({ ...check, record: at }))), run.checks);
}

function errorsOf({ page }) {
  return [page.run?.error, ...page.records.map(({ raw }) => raw.error)].filter(Boolean);
}

function matchesQuery(check, store) {
  if (!store.filtered) return true;
  const { text, type, status } = store.query;
  const { target = "", rule, message = "" } = check;
  check.searched ??= `${target} ${rule} ${message}`.toLowerCase();
  if (!check.searched.includes(text.trim().toLowerCase())) return false;
  if (!type && !status) return true;
  const { layers } = store.page.records[check.record ?? store.recordIndex];
  const row = check.layer ?? -1;
  return row >= 0 && (!type || layers.type.get(row) === type) &&
    (!status || layers.status.get(row).split(" ").includes(status));
}

function drawChips(chips, found, draw) {
  const focused = [...chips.children].indexOf(document.activeElement);
  const counts = OUTCOMES.map((name) =>
    [name, found.filter(({ outcome }) => outcome === name).length]);
  const shown = counts.filter(([name, count]) => count || chosenOutcomes.has(name));
  chips.replaceChildren(...shown.map(([name, count]) => el("button", {
    type: "button", class: `chip is-${name.replace(" ", "-")}`,
    "aria-pressed": String(chosenOutcomes.has(name)),
    onclick: () => {
      if (!chosenOutcomes.delete(name)) chosenOutcomes.add(name);
      draw();
    },
  }, `${WORDS[name] ?? name} `, el("span", { class: "muted", text: integer(count) }))));
  chips.children[focused]?.focus();
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

function groupElement(group, isOpen, store) {
  const [first] = group;
  const isBad = BAD.includes(first.outcome);
  const alike = group.every(({ advice }) => advice === first.advice);
  const list = el("ul", { class: "findings" });
  const shared = isBad && alike && first.advice ? adviceLine(first.advice) : null;
  const fill = () => list.childElementCount || appendSome(list, group, FIRST, (check) =>
    findingRow(check, store, isBad && !alike));
  if (isOpen) fill();
  return el("details", {
    class: `finding-group is-${first.outcome.replace(" ", "-")}`, open: isOpen,
    ontoggle: ({ target }) => {
      if (target.open) fill();
      if (target.open === isOpen) openGroups.delete(keyOf(first));
      else openGroups.set(keyOf(first), target.open);
    },
  },
  el("summary", {}, el("span", { class: "outcome", text: first.outcome }), " ",
    el("code", { text: first.rule }), " ",
    el("span", { class: "muted", text: [
      group.length > 1 ? counted(group.length, "target") : "", first.passed_over ?? "",
    ].filter(Boolean).join(", ") })),
  list, shared);
}

function adviceLine(text) {
  return el("p", { class: "advice" }, "try: ", el("bdi", { text }));
}

function findingRow(check, store, withAdvice) {
  const facts = [
    ["value", check.value], ["limit", check.limit],
    ["step", check.step === undefined ? undefined : integer(check.step)], ["reason", check.reason],
  ].filter(([, text]) => text !== undefined);
  const row = el("li", {},
    el("p", {}, targetLink(check, store), " ", el("bdi", { text: check.message ?? "" })),
    facts.length || check.place ? el("p", { class: "finding-facts" },
      ...facts.map(([label, text]) => el("span", {}, `${label} `, el("bdi", { text }))),
      placeCode(check.place)) : null,
    withAdvice && check.advice ? adviceLine(check.advice) : null);
  row.check = check;
  return row;
}

/** Return the target of a check as a button that selects it, in its record. */
function targetLink(check, store) {
  const { target = "", layer = -1, parameter = -1, record, step } = check;
  const name = nameElement(target || (BAD.includes(check.outcome) ? "the model" : ""));
  if (layer < 0 && parameter < 0 && step === undefined) return name;
  return linkButton(name, () => {
    if (record !== undefined) store.showRecord(record);
    const change = parameter >= 0 ? { parameter } : layer >= 0 ? { layer } : {};
    store.select(step === undefined ? change : { ...change, step }, "checks");
  });
}

function markSelected(groups, { selection, recordIndex }, scroll) {
  const { layer, parameter } = selection;
  let first = null;
  for (const row of groups.querySelectorAll(".findings > li")) {
    const { check } = row;
    const isHere = check && (check.record ?? recordIndex) === recordIndex &&
      (parameter >= 0 ? check.parameter === parameter : layer >= 0 && check.layer === layer);
    row.classList.toggle("selected", Boolean(isHere));
    if (isHere) first ??= row;
  }
  if (scroll) first?.scrollIntoView({ block: "nearest" });
}

function errorBox(error, store) {
  const { layer = -1, target } = error;
  const facts = [
    ["raised in", target && nameLink(target, store, { layer }, "checks")], ["inputs", error.inputs],
    ["place", placeCode(error.place)], ["hook", error.hook], ["", placeCode(error.hook_place)],
    ["try", error.hook_advice], ["try", error.hint],
  ];
  return el("section", { class: "error-box", "aria-label": "Error" },
    el("h3", {}, el("bdi", { text: error.type }), " in ", el("bdi", { text: error.phase })),
    el("pre", {}, el("bdi", { text: error.message ?? "" })),
    factList(facts.filter(([, content]) => content)));
}
