/** The panels of a comparison of two trainings: figures by step, and gradients by parameter. */

import { table } from "./data.js";
import { createAside } from "./details.js";
import { differenceBar, differenceValue, firstBox, statusWord } from "./diff_cells.js";
import { el, nameElement } from "./dom.js";
import { gridPanel, rowSwitch } from "./grid_panel.js";
import { createCharts, rowOf } from "./lines.js";
import { factList, plainTable } from "./tables.js";
import { counted, figure, integer } from "./text.js";
import { marked } from "./treegrid.js";

const CURVES = [["loss", "Loss"], ["grad_norm", "Gradient norm"], ["lr", "Learning rate"]];
const EVEN = ["same", "close", "unknown"];

/** Read the tables inside the records of a comparison of trainings. */
export function readTrainings(page) {
  for (const record of page.records) {
    record.pair = record.raw.pair;
    record.pair.steps = table(record.pair.steps);
  }
  return page;
}

export const stepsPanel = {
  id: "steps",
  title: "Steps",
  available: () => true,
  count: (store) => store.record?.pair.steps.step.length,
  create(host, store) {
    const { first, totals, settings } = store.page;
    host.append(firstBox(first, totals, first ? () => {
      store.showRecord(first.record);
      store.select({ step: first.step }, "first");
    } : null), el("div", { class: "sections" }, settingsTable(settings)));
    if (!store.record) return { update() {} };
    const { pair } = store.record;
    host.append(el("div", { class: "sections" }, el("p", {}, pairSentence(pair)), figureList(pair, store)));
    const charts = curves(pair.steps, store);
    host.append(charts.element);
    const grid = stepGrid(host, pair, store);
    return {
      update(change) {
        charts.show();
        grid.update(change);
      },
    };
  },
};

function settingsTable(settings) {
  if (!settings.length) return null;
  return el("section", {}, el("h3", { text: "Settings that differ" }),
    plainTable(["Setting", "Record", "A", "B"], settings, { label: "Settings" }));
}

function pairSentence({ a, b, compared, figures, different, total }) {
  if (a === null || b === null) return `Only in ${a === null ? "B" : "A"}: ${counted(total.find((n) => n !== null), "step")}`;
  return `${counted(total[0] ?? 0, "step")} in A, ${integer(total[1])} in B, ${integer(compared)} compared; ` +
    `${integer(different)} of ${counted(figures, "figure")} differ`;
}

function figureList({ first, follows, first_inexact: inexact }, store) {
  const rows = first ? [first, ...follows] : [inexact].filter(Boolean);
  if (!rows.length) return null;
  return el("section", {}, el("h3", { text: first ? "What differs, in the order of the computation" : "Not equal, but within the limits" }),
    plainTable(["#Step", "Phase", "Figure", "Values"], rows.map((row) => [
      el("button", { type: "button", class: "link", text: integer(row.step), onclick: () => store.select({ step: row.step }, "first") }),
      row.phase, row.what, row.values,
    ]), { label: "First differences" }));
}

function curves(steps, store) {
  const known = CURVES.filter(([key]) => steps[`${key}_a`] || steps[`${key}_b`]);
  const figures = known.map(([key, title]) => ({
    title,
    lines: [["a", "A", "--forward"], ["b", "B", "--backward"]].filter(([side]) => steps[`${key}_${side}`])
      .map(([side, label, color]) => ({ label, color, values: steps[`${key}_${side}`] })),
  }));
  figures.push({ title: "Largest difference", lines: [{ label: "", color: "--accent", values: steps.largest }] });
  return createCharts(steps.step, figures, {
    selected: () => store.selection.step, choose: (step) => store.select({ step }, "charts"),
  });
}

function stepGrid(host, { steps, first }, store) {
  const column = (key, title) => ({
    id: key.replace("_", "-"), title, width: 110, align: "end", value: (row) => steps[key][row],
    cell: (row) => precise(steps[key][row]),
  });
  const only = rowSwitch("only differences", steps.step.length, (row) => !EVEN.includes(steps.status.get(row)), {
    changed: () => panel.update({ origin: null }),
  });
  const panel = gridPanel(host, {
    id: "steps", label: "Steps", count: steps.step.length,
    selected: () => rowOf(steps.step, store.selection.step), matches: () => only.matches(null),
    choose: (row) => store.select({ step: steps.step[row] }, "steps"),
    rowClass: (row) => (first?.step === steps.step[row] ? "first-difference" : ""),
    columns: [
      { id: "step", title: "Step", width: 90, align: "end", value: (row) => steps.step[row], cell: (row) => integer(steps.step[row]) },
      ...[["loss_a", "Loss A"], ["loss_b", "Loss B"], ["grad_norm_a", "Norm A"], ["grad_norm_b", "Norm B"], ["lr_a", "Rate A"], ["lr_b", "Rate B"]]
        .filter(([key]) => steps[key]).map(([key, title]) => column(key, title)),
      { id: "largest", title: "Largest diff", width: 130, align: "end", descending: true, value: (row) => differenceValue(steps.largest[row]),
        cell: (row) => differenceBar(steps.largest[row]) },
      { id: "differ", title: "Differ", width: 110, align: "end", descending: true, value: (row) => steps.different[row],
        cell: (row) => `${integer(steps.different[row])} of ${integer(steps.compared[row])}` },
      { id: "verdict", title: "Verdict", min: 100, grow: 1, value: (row) => steps.status.get(row), cell: (row) => statusWord(steps.status.get(row)) },
    ],
  });
  panel.grid.tools.prepend(only.element);
  return panel;
}

// Enough digits to tell A from B.
function precise(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(7))) : figure(value);
}

export const gradientDiffPanel = {
  id: "gradients",
  title: "Gradients",
  available: (store) => store.record?.layers.count > 0,
  count: (store) => store.record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    const only = rowSwitch("only differences", layers.count, (row) => !EVEN.includes(layers.status.get(row)), {
      changed: () => panel.update({ origin: null }),
    });
    const panel = gridPanel(host, {
      id: "gradients", label: "Gradients of parameters", count: layers.count,
      selected: () => store.selection.layer, choose: (row) => store.select({ layer: row }, "gradients"),
      matches: () => only.matches(store.filtered ? store.matches : null),
      columns: [
        { id: "name", title: "Parameter", min: 220, grow: 3, value: (row) => layers.name.get(row), cell: (row) => parameterCell(layers, row, store) },
        { id: "shape", title: "Shape", min: 100, grow: 1, cell: (row) => layers.shape.get(row) },
        { id: "first", title: "First step", width: 100, align: "end", value: (row) => layers.first_step[row], cell: (row) => integer(layers.first_step[row]) },
        { id: "norm-a", title: "Norm A", width: 110, align: "end", value: (row) => layers.a[row], cell: (row) => precise(layers.a[row]) },
        { id: "norm-b", title: "Norm B", width: 110, align: "end", value: (row) => layers.b[row], cell: (row) => precise(layers.b[row]) },
        { id: "relative", title: "Diff there", width: 130, align: "end", descending: true, value: (row) => differenceValue(layers.relative[row]), cell: (row) => differenceBar(layers.relative[row]) },
        { id: "largest", title: "Largest diff", width: 130, align: "end", descending: true, value: (row) => differenceValue(layers.largest[row]), cell: (row) => differenceBar(layers.largest[row]) },
        { id: "steps", title: "Steps that differ", width: 130, align: "end", descending: true, value: (row) => layers.different[row], cell: (row) => `${integer(layers.different[row])} of ${integer(layers.steps[row])}` },
        { id: "verdict", title: "Verdict", min: 100, grow: 1, value: (row) => layers.status.get(row), cell: (row) => statusWord(layers.status.get(row)) },
      ],
    });
    panel.grid.tools.prepend(only.element);
    return panel;
  },
};

function parameterCell(layers, row, store) {
  const other = layers.other.get(row);
  return el("span", {}, el("bdi", { class: "name" }, marked(layers.name.get(row), store.query.text)),
    other === null ? null : el("span", { class: "muted" }, " | ", nameElement(other)));
}

/** Return the aside with both values of the selected step and parameter. */
export function createRunDiffDetails(store) {
  return createAside(store, "Select a step or a parameter.", () => {
    const { record, selection } = store;
    const parts = [];
    if (!record) return parts;
    const { layers, pair: { steps } } = record;
    const row = rowOf(steps.step, selection.step);
    if (row >= 0) {
      parts.push(el("section", { class: "detail" }, el("h3", { text: `Step ${integer(selection.step)}` }), factList([
        ...CURVES.flatMap(([key, title]) => ["a", "b"].filter((side) => steps[`${key}_${side}`])
          .map((side) => [`${title} ${side.toUpperCase()}`, precise(steps[`${key}_${side}`][row])])),
        ["observed", steps.sampled[row] ? "in detail by both" : "in outline"],
        ["differ", `${integer(steps.different[row])} of ${counted(steps.compared[row], "figure")}`],
        ["largest", figure(steps.largest[row])], ["status", statusWord(steps.status.get(row))],
      ])));
    }
    const { layer } = selection;
    if (layer >= 0) {
      parts.push(el("section", { class: "detail" }, el("h3", {}, nameElement(layers.name.get(layer))), factList([
        ["name in B", layers.other.get(layer) ?? "the same"], ["shape", layers.shape.get(layer)],
        ["first step", integer(layers.first_step[layer])], ["A", precise(layers.a[layer])],
        ["B", precise(layers.b[layer])], ["difference", figure(layers.relative[layer])],
        ["limit", figure(layers.limit[layer])], ["largest", figure(layers.largest[layer])],
        ["status", statusWord(layers.status.get(layer))],
      ])));
    }
    return parts;
  });
}
