/** The panels of a diff: calls, and parameters with their gradients, of A and B side by side. */

import { table } from "./data.js";
import { createAside } from "./details.js";
import { differenceBar, differenceValue, firstBox, statusWord } from "./diff_cells.js";
import { el, nameElement } from "./dom.js";
import { gridPanel, rowSwitch } from "./grid_panel.js";
import { factList } from "./tables.js";
import { figure } from "./text.js";
import { marked } from "./treegrid.js";

const MANY = 60;
const FINE = ["same", "close", "unknown"];

/** Read the tables inside the tables of a comparison. */
export function readComparison(page) {
  for (const { layers, parameters } of page.records) {
    for (const key of ["a", "b", "input", "output"]) layers[key] = table(layers[key]);
    for (const key of ["value", "gradient"]) parameters[key] = table(parameters[key]);
  }
  return page;
}

export const callsPanel = {
  id: "calls",
  title: "Calls",
  available: (store) => store.record.layers.count > 0,
  count: (store) => store.record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    const { first, totals } = store.page;
    const { a, b, input, output } = layers;
    const same = (row) => a.name.get(row) === b.name.get(row) && a.type.get(row) === b.type.get(row);
    const columns = [
      { id: "a", title: "A", min: 200, grow: 3, value: (row) => a.name.get(row), cell: (row) => callCell(a, row, store) },
      { id: "shape-a", title: "Output of A", min: 110, grow: 1, cell: (row) => output.shape_a.get(row) },
      { id: "b", title: "B", min: 110, grow: 2, value: (row) => b.name.get(row), cell: (row) =>
        (same(row) ? asInA() : callCell(b, row, store)) },
      { id: "shape-b", title: "Output of B", min: 110, grow: 1, cell: (row) => shapeOfB(output, row) },
      differenceColumn("input", "Input diff", input),
      differenceColumn("output", "Output diff", output),
      limitColumn(output), verdictColumn(layers),
    ];
    host.append(firstBox(first, totals, first?.fragment ? () => {
      location.hash = first.fragment;
    } : null));
    return differenceGrid(host, store, {
      id: "calls", label: "Calls", count: layers.count, parent: layers.parent, columns, table: layers,
      selected: () => (store.selection.parameter < 0 ? store.selection.layer : -1),
      found: () => store.matches, choose: (row) => store.select({ layer: row }, "calls"),
      rowClass: (row) => (first?.layer === row ? "first-difference" : ""),
    });
  },
};

export const statePanel = {
  id: "parameters",
  title: "Parameters",
  available: (store) => store.record.parameters.count > 0,
  count: (store) => store.record.parameters.count,
  create(host, store) {
    const { parameters } = store.record;
    const { a, b, kind, value } = parameters;
    const columns = [
      { id: "a", title: "A", min: 200, grow: 3, value: (row) => a.get(row), cell: (row) => nameCell(a, row, store) },
      { id: "b", title: "B", min: 110, grow: 2, value: (row) => b.get(row), cell: (row) =>
        (a.get(row) === b.get(row) ? asInA() : nameCell(b, row, store)) },
      { id: "kind", title: "Kind", width: 90, value: (row) => kind.get(row), cell: (row) => kind.get(row) },
      { id: "shape-a", title: "Shape in A", min: 100, grow: 1, cell: (row) => value.shape_a.get(row) },
      { id: "shape-b", title: "Shape in B", min: 100, grow: 1, cell: (row) => shapeOfB(value, row) },
      differenceColumn("value", "Value diff", value),
      differenceColumn("gradient", "Gradient diff", parameters.gradient),
      limitColumn(value), verdictColumn(parameters),
    ];
    return differenceGrid(host, store, {
      id: "parameters", label: "Parameters and buffers", count: parameters.count, columns,
      table: parameters, selected: () => store.selection.parameter,
      found: () => store.parameterMatches,
      choose: (row) => store.select({ parameter: row }, "parameters"),
    });
  },
};

function differenceGrid(host, store, { found, table: { status, count }, ...options }) {
  const differs = (row) => !FINE.includes(status.get(row));
  const any = status.texts.some((word) => !FINE.includes(word));
  const only = rowSwitch("only differences", count, differs, {
    on: any && count > MANY, changed: () => panel.update({ origin: null }),
  });
  const panel = gridPanel(host, {
    ...options, matches: () => only.matches(store.filtered ? found() : null),
  });
  panel.grid.tools.prepend(only.element);
  only.element.hidden = !any;
  return panel;
}

function asInA() {
  return el("span", { class: "muted", text: "as in A" });
}

function nameCell(names, row, store) {
  const name = names.get(row);
  return name === null ? el("span", { class: "muted", text: "none" })
    : el("bdi", { class: "name" }, marked(name, store.query.text));
}

function callCell(side, row, store) {
  const type = side.type.get(row);
  if (type === null) return el("span", { class: "muted", text: "none" });
  const name = side.name.get(row) ?? "(not registered)";
  const call = side.call[row];
  return el("span", {}, el("bdi", { class: "name" }, marked(name || "(root)", store.query.text)), " ",
    el("bdi", { class: "muted" }, marked(type, store.query.text)), call > 0 ? ` #${call}` : "");
}

function shapeOfB({ shape_a: ours, shape_b: theirs }, row) {
  return theirs.get(row) === ours.get(row) && ours.get(row) !== null ? asInA() : theirs.get(row);
}

function differenceColumn(id, title, { text, relative }) {
  return {
    id: `${id}-difference`, title, width: 130, align: "end", descending: true,
    help: "The norm of the difference divided by the norm in A; bars from 1e-9 to 1, logarithmic",
    value: (row) => differenceValue(relative[row]), cell: (row) => differenceBar(relative[row], text.get(row)),
  };
}

function limitColumn({ limit }) {
  return {
    id: "limit", title: "Limit", width: 80, align: "end", value: (row) => limit[row],
    cell: (row) => figure(limit[row]),
  };
}

function verdictColumn({ status, verdict }) {
  return {
    id: "verdict", title: "Verdict", min: 150, grow: 1, value: (row) => verdict.get(row),
    cell: (row) => statusWord(status.get(row), verdict.get(row)), hint: (row) => verdict.get(row),
  };
}

/** Return the aside with both sides of what is selected, and the differences of its tensors. */
export function createDiffDetails(store) {
  return createAside(store, "Select a call or a parameter.", () => {
    const { record: { layers, parameters }, selection: { layer, parameter } } = store;
    const parts = [];
    if (parameter >= 0) {
      parts.push(section(parameters.name.get(parameter), parameters, parameter, [
        ["A", parameters.a.get(parameter) ?? "none"], ["B", parameters.b.get(parameter) ?? "none"],
        ["kind", parameters.kind.get(parameter)],
      ], [["Value", parameters.values[parameter]], ["Gradient", parameters.gradients[parameter]]]));
    }
    if (layer >= 0) {
      parts.push(section(store.record.layerName(layer), layers, layer, [
        ...sideFacts("A", layers.a, layer), ...sideFacts("B", layers.b, layer),
      ], [["Inputs", layers.inputs[layer]], ["Outputs", layers.outputs[layer]]]));
    }
    return parts;
  });
}

function sideFacts(label, side, row) {
  if (side.type.get(row) === null) return [[label, "none"]];
  const facts = [[label, `${side.name.get(row) ?? "(not registered)"} (${side.type.get(row)})`]];
  const place = side.place.get(row);
  return place ? [...facts, ["", el("code", { class: "place" }, el("bdi", { text: place }))]] : facts;
}

function section(title, { status, verdict }, row, facts, tensors) {
  return el("section", { class: "detail" }, el("h3", {}, nameElement(title)),
    el("p", {}, statusWord(status.get(row), verdict.get(row))), factList(facts),
    ...tensors.filter(([, leaves]) => leaves).map(([label, leaves]) => tensorDifferences(label, leaves)));
}

function tensorDifferences(label, leaves) {
  return el("div", { class: "tensors" }, el("h4", { text: label }), ...leaves.map(
    ([path, otherPath, shape, otherShape, dtype, otherDtype, relative, limit, how, status]) =>
      factList([
        ["tensor", [path || "value", otherPath].filter(Boolean).join(" | ")],
        ["shape", [shape, otherShape].filter(Boolean).join(" | ")],
        ["dtype", [dtype, otherDtype].filter(Boolean).join(" | ")],
        ["difference", `${figure(relative)}${how ? ` (${how})` : ""}, limit ${figure(limit)}`],
        ["status", statusWord(status)],
      ])));
}
