/** The panels of a comparison of two trainings: figures by step, and gradients by parameter. */

import { table } from "../frame/data.js";
import { createAside } from "../frame/details.js";
import { differenceColumn, differenceGrid, statusWord } from "./differences.js";
import { verdictColumn } from "./differences.js";
import { el, nameElement } from "../frame/dom.js";
import { createCharts, rowOf } from "../run/lines.js";
import { factList, figuresColumn, linkButton, plainTable, stepsColumn } from "../frame/tables.js";
import { textsColumn, titled } from "../frame/tables.js";
import { counted, cut, figure, integer } from "../frame/text.js";
import { marked } from "../grid/treegrid.js";

const CURVES = { loss: "Loss", grad_norm: "Gradient norm", lr: "Learning rate" };
const SIDES = [["a", "A", "--forward"], ["b", "B", "--backward"]];
const LONGEST = 36; // characters of what differs, beside a line of a chart

/** Read the tables inside the records of a comparison of trainings. */
export function readTrainings(page) {
  for (const record of page.records) {
    record.pair = { ...record.raw.pair, steps: table(record.raw.pair.steps) };
  }
  return page;
}

export const stepsPanel = {
  id: "steps",
  title: "Steps",
  available: () => true,
  count: ({ record }) => record?.pair.steps.step.length,
  create(host, store) {
    const { page, record } = store;
    const { settings } = page;
    const views = record ? pairViews(host, record.pair, store) : [];
    if (settings.length) {
      host.append(titled("Settings that differ",
        plainTable("Settings", ["Setting", "Record", ...page.sides], settings)));
    }
    return { update: (change) => views.forEach((view) => view.update(change)) };
  },
};

function pairViews(host, pair, store) {
  const { steps } = pair;
  const choose = (origin) => (step) => store.select({ step }, origin);
  const charts = createCharts(steps.step, curves(steps, store.page.sides), {
    selected: () => store.selection.step, choose: choose("charts"),
  });
  host.append(el("p", { class: "muted", text: pair.summary }), charts.element,
    figureSection(pair, choose("first")) ?? "", el("h3", { text: "Steps" }));
  const grid = differenceGrid(host, {
    id: "steps", inside: true, giveWay: ["lr_b", "lr_a", "differ", "grad_norm_b", "grad_norm_a"],
    label: "Steps", count: steps.step.length, status: steps.status,
    selected: () => rowOf(steps.step, store.selection.step), found: () => null,
    choose: (row) => choose("steps")(steps.step[row]),
    rowClass: (row) => (pair.first?.step === steps.step[row] ? "first-difference" : ""),
    columns: [
      stepsColumn(steps.step),
      ...Object.entries(CURVES).flatMap(([key, title]) => SIDES.map(([side, label]) =>
        [`${key}_${side}`, `${title} ${label}`])).filter(([key]) => steps[key])
        .map(([key, title]) => preciseColumn(key, title, steps[key])),
      countsColumn("differ", "Figures that differ", steps.different, steps.compared),
      differenceColumn("largest", "Largest diff", steps.largest), verdictColumn(steps.status),
    ],
  });
  return [{ update: charts.show }, grid];
}

function curves(steps, names) {
  const figures = Object.entries(CURVES).map(([key, title]) => ({
    title, lines: SIDES.filter(([side]) => steps[`${key}_${side}`]).map(([side, , color]) => ({
      label: cut(names[side === "a" ? 0 : 1], LONGEST), color, values: steps[`${key}_${side}`], dash: side === "b" ? [6, 3] : null,
    })),
  }));
  const largest = [{ label: "", color: "--accent", values: steps.largest }];
  figures.push({ title: "Largest difference", lines: largest });
  return figures.filter(({ lines }) => lines.length);
}

function figureSection({ first, follows, first_inexact: inexact }, choose) {
  const rows = first ? [first, ...follows] : inexact ? [inexact] : [];
  if (!rows.length) return null;
  const title = first ? "What differs first, by kind of figure" : "Not equal, but within limits";
  return titled(title, plainTable("First differences", ["#Step", "Phase", "Figure", "Values"],
    rows.map(({ step, phase, what, values }) =>
      [linkButton(integer(step), () => choose(step)), phase, what, values])));
}

function preciseColumn(id, title, values) {
  return figuresColumn(id, title, values, {
    width: 125, cell: (row) => precise(values[row]),
  });
}

function countsColumn(id, title, counts, totals) {
  return figuresColumn(id, title, counts, {
    width: 135, cell: (row) => `${integer(counts[row])} of ${integer(totals[row])}`,
  });
}

// Enough digits to tell A from B.
function precise(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(7))) : figure(value);
}

export const gradientDiffPanel = {
  id: "gradients",
  title: "Gradients",
  available: ({ record }) => record?.layers.count > 0,
  count: ({ record }) => record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    return differenceGrid(host, {
      id: "gradients", giveWay: ["shape", "first", "norm-b", "norm-a", "differ", "relative"],
      label: "Gradients of parameters", count: layers.count, status: layers.status,
      selected: () => store.selection.layer,
      choose: (row) => store.select({ layer: row }, "gradients"),
      found: () => (store.filtered ? store.matches : null),
      columns: [
        textsColumn("name", "Parameter", (row) => layers.name.get(row), {
          min: 220, grow: 3, cell: (row) => pairedName(layers, row, store),
        }),
        textsColumn("shape", "Shape", (row) => layers.shape.get(row)),
        figuresColumn("first", "First step", layers.first_step, {
          cell: (row) => integer(layers.first_step[row]),
        }),
        preciseColumn("norm-a", "Norm in A", layers.a),
        preciseColumn("norm-b", "Norm in B", layers.b),
        differenceColumn("relative", "Difference", layers.relative),
        differenceColumn("largest", "Largest diff", layers.largest),
        countsColumn("differ", "Steps that differ", layers.different, layers.steps),
        verdictColumn(layers.status),
      ],
    });
  },
};

function pairedName({ name, other }, row, { query }) {
  const theirs = other.get(row);
  return el("bdi", {}, el("bdi", { class: "name" }, marked(name.get(row), query.text)),
    ...(theirs === null ? [] : [" | ", nameElement(theirs)]));
}

/** Return the aside with the figures of both trainings in the selected step and parameter. */
export function createRunDiffDetails(store) {
  return createAside(() => {
    const { record, selection: { step, layer } } = store;
    if (!record) return [];
    const { layers, pair: { steps } } = record;
    const row = rowOf(steps.step, step);
    const stepFacts = row < 0 ? [] : [
      ...Object.entries(CURVES).flatMap(([key, title]) => SIDES.map(([side, label]) =>
        [`${title} ${label}`, steps[`${key}_${side}`]])).filter(([, values]) => values)
        .map(([label, values]) => [label, precise(values[row])]),
      ["observed", steps.sampled[row] ? "in detail by both" : "in outline"],
      ["differ", `${integer(steps.different[row])} of ${counted(steps.compared[row], "figure")}`],
      ["largest", figure(steps.largest[row])], ["status", statusWord(steps.status.get(row))],
    ];
    const parts = stepFacts.length ? [pairDetails(`Step ${integer(step)}`, stepFacts)] : [];
    if (layer < 0) return parts;
    return [...parts, pairDetails(layers.name.get(layer), [
      ["in B", layers.other.get(layer) ?? "as in A"], ["shape", layers.shape.get(layer)],
      ["first step", integer(layers.first_step[layer])], ["norm in A", precise(layers.a[layer])],
      ["norm in B", precise(layers.b[layer])], ["difference", figure(layers.relative[layer])],
      ["limit", figure(layers.limit[layer])], ["largest", figure(layers.largest[layer])],
      ["status", statusWord(layers.status.get(layer))],
    ])];
  });
}

function pairDetails(title, facts) {
  return el("section", { class: "detail" }, el("h3", {}, nameElement(title)), factList(facts));
}
