/** The panel of a training: its figures by step, its steps, its optimizer, and its updates. */

import { el } from "./frame/dom.js";
import { gridPanel, rowSwitch } from "./grid/grid_panel.js";
import { createCharts, rowOf } from "./run/lines.js";
import { appendSome, factList, figuresColumn, linkButton, logColumn } from "./frame/tables.js";
import { nameLink, placeCode, plainTable, stepsColumn, textsColumn, titled } from "./frame/tables.js";
import { placeAt } from "./frame/steps.js";
import { counted, figure, integer } from "./frame/text.js";
import { marked } from "./grid/treegrid.js";

const CHARTS = {
  loss: "Loss", grad_norm: "Gradient norm", lr: "Learning rate", update_ratio: "Update / weight",
  scale: "Loss scale",
};
const FIGURES_OF_STEPS = { ...CHARTS, update_norm: "Update norm", weight_norm: "Weight norm" };
const COUNTS_OF_STEPS = {
  forwards: "Forwards", backwards: "Backwards", missing: "No gradient", zero: "Zero gradient",
  non_finite: "NaN or Inf",
};
const MOST_NAMES = 60;
const RATIOS = [1e-7, 1];

export const runPanel = {
  id: "run",
  title: "Run",
  available: () => true,
  create(host, store) {
    const { run } = store.page;
    const training = store.record?.training;
    const sections = el("div", { class: "sections" });
    host.append(sections);
    const views = training ? trainingViews(sections, training, store) : [];
    if (run.first_non_finite) sections.prepend(firstNonFinite(run.first_non_finite, store));
    sections.append(titled("Observed", factList(run.facts)));
    if (run.others.length) sections.append(othersTable(run.others));
    return { update: (change) => views.forEach((view) => view.update(change)) };
  },
};

function trainingViews(sections, training, store) {
  const { steps, unheld } = training;
  const figures = Object.keys(CHARTS).filter((key) => steps[key]).map((key) => ({
    title: CHARTS[key], skipped: steps.skipped,
    lines: [{ label: CHARTS[key], values: steps[key], color: "--accent" }],
  }));
  const charts = createCharts(steps.step, figures, {
    selected: () => store.selection.step, choose: (step) => store.select({ step }, "charts"),
  });
  const facts = titled(el("bdi", { text: training.title }),
    el("p", { class: "muted" }, el("bdi", { text: training.summary.join(" · ") })));
  const stepSection = titled("Steps");
  sections.append(facts, charts.element, stepSection);
  const views = [{ update: charts.show }, stepGrid(stepSection, training, store)];
  if (training.updates.length) {
    const updates = titled("Updates of parameters, relative to their norm");
    sections.append(updates);
    views.push(updateGrid(updates, training, store));
  }
  sections.append(titled("Optimizer and root", factList(training.facts)));
  if (unheld.length) sections.append(unheldList(unheld, store));
  return views;
}

function stepGrid(host, { steps }, store) {
  const isBad = (row) => steps.skipped[row] || steps.non_finite?.[row] > 0 ||
    ["loss", "grad_norm"].some((key) => typeof steps[key]?.[row] === "string");
  const any = steps.step.some((_, row) => isBad(row));
  const switches = [
    ["observed in detail", (row) => steps.sampled[row] > 0, steps.sampled.some((value) => !value)],
    ["skipped, NaN or Inf", isBad, any],
  ].map(([label, wanted, useful]) => {
    const entry = rowSwitch(label, steps.step.length, wanted, () => panel.update({ origin: null }));
    entry.element.hidden = !useful;
    return entry;
  });
  const panel = gridPanel(host, {
    id: "steps", inside: true, giveWay: ["scale", "lr", "update_ratio"],
    label: "Steps", count: steps.step.length,
    selected: () => rowOf(steps.step, store.selection.step),
    matches: () => switches.reduce((found, entry) => entry.matches(found), null),
    choose: (row) => store.select({ step: steps.step[row] }, "steps"),
    rowClass: (row) => (isBad(row) ? "bad-step" : ""), columns: stepColumns(steps),
  });
  panel.grid.tools.prepend(...switches.map((entry) => entry.element));
  return panel;
}

function stepColumns(steps) {
  const rows = steps.step.map((_, row) => row);
  const words = (row) => [
    steps.skipped[row] ? "skipped" : "", steps.sampled[row] ? "in detail" : "",
  ].filter(Boolean).join(", ");
  return [
    stepsColumn(steps.step),
    ...Object.entries(FIGURES_OF_STEPS).filter(([key]) => steps[key]).map(([key, title]) =>
      figuresColumn(key, title, steps[key], { grow: 1, off: !(key in CHARTS) })),
    ...Object.entries(COUNTS_OF_STEPS).filter(([key]) => steps[key]).map(([key, title]) =>
      figuresColumn(key, title, steps[key], {
        cell: (row) => integer(steps[key][row]),
        off: key.endsWith("wards") ? rows.every((row) => steps[key][row] === 1)
          : !rows.some((row) => steps[key][row]),
      })),
    textsColumn("observed", "", words),
  ];
}

function updateGrid(host, { updates, sampled }, store) {
  const isNumber = (ratio) => typeof ratio === "number";
  const numbers = updates.map(([, , ratios]) => ratios.filter(isNumber));
  const at = () => placeAt(sampled, store.selection.step);
  const label = el("p", { class: "muted" });
  const panel = gridPanel(host, {
    id: "updates", inside: true, giveWay: ["least", "change", "most"],
    label: "Updates", count: updates.length,
    selected: () => (store.selection.parameter < 0 ? -1
      : updates.findIndex(([, row]) => row === store.selection.parameter)),
    matches: () => (store.filtered ? matching(store) : null),
    choose: (row) => {
      const [, parameter] = updates[row];
      if (parameter >= 0) store.select({ parameter }, "updates");
    },
    columns: [
      textsColumn("parameter", "Parameter", (row) => updates[row][0], {
        min: 200, grow: 3,
        cell: (row) => el("bdi", { class: "name" }, marked(updates[row][0], store.query.text)),
      }),
      {
        ...logColumn("ratio", "In the step", [], RATIOS), value: (row) => ratioAt(row, at()),
        cell: (row) => logColumn("", "", [ratioAt(row, at())], RATIOS).cell(0),
      },
      logColumn("least", "Smallest", numbers.map((list) => least(list, Math.min)), RATIOS),
      logColumn("most", "Largest", numbers.map((list) => least(list, Math.max)), RATIOS),
      textsColumn("change", "Values", (row) => updates[row][3]),
    ],
  });
  function ratioAt(row, index) {
    return updates[row][2][index] ?? null;
  }
  let last = { matches: undefined };
  function matching({ parameterMatches }) {
    if (last.matches !== parameterMatches) {
      const rows = Uint8Array.from(updates, ([, row]) => parameterMatches[row] ?? 0);
      last = { matches: parameterMatches, rows };
    }
    return last.rows;
  }
  host.insertBefore(label, host.children[1]);
  return {
    update(change) {
      label.textContent = `"In the step" is step ${integer(sampled[at()])}, ` +
        "the last in detail up to the selected one; bars from 1e-7 to 1, logarithmic";
      panel.update(change);
    },
  };
}

function least(list, choose) {
  return list.length ? choose(...list) : null;
}

function firstNonFinite(first, store) {
  const { what, record, step, layer, facts } = first;
  return el("section", { class: "error-box", "aria-label": "First non-finite value" },
    el("h3", {}, "First non-finite value: ", linkButton(what, () => {
      store.showRecord(record);
      store.select(layer >= 0 ? { layer, step } : { step }, "first");
    })),
    factList(facts));
}

function unheldList(unheld, store) {
  const list = el("ul", { class: "names" });
  appendSome(list, unheld, MOST_NAMES, ([name, parameter]) =>
    el("li", {}, nameLink(name, store, { parameter }, "run")));
  return titled(`Trainable, but in no optimizer: ${counted(unheld.length, "parameter")}`, list);
}

function othersTable(others) {
  return titled("Called, but trained by no optimizer", plainTable(
    "Other modules", ["Module", "Type", "#Calls", "#Parameters", "Place"],
    others.map(({ name, type, calls, parameters, place }) =>
      [name, type, integer(calls), integer(parameters), placeCode(place)])));
}

/** Return the figures of the selected step, for the aside; [] if no step is selected. */
export function stepDetails({ record, selection: { step } }) {
  const steps = record?.training?.steps;
  const row = steps ? rowOf(steps.step, step) : -1;
  if (row < 0) return [];
  const write = (names, format) => Object.entries(names)
    .filter(([key]) => (steps[key]?.[row] ?? null) !== null)
    .map(([key, title]) => [title, format(steps[key][row])]);
  return [el("section", { class: "detail" }, el("h3", { text: `Step ${integer(step)}` }), factList([
    ...write(FIGURES_OF_STEPS, figure), ...write(COUNTS_OF_STEPS, integer),
    ["Observed", steps.sampled[row] ? "in detail" : "in outline"],
    ...(steps.skipped[row] ? [["Optimizer", "skipped"]] : []),
  ]))];
}
