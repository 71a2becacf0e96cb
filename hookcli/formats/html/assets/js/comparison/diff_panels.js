/** The panels of a diff: calls, and parameters with their gradients, of A and B side by side. */

import { table } from "../frame/data.js";
import { createAside } from "../frame/details.js";
import { differenceColumn, differenceGrid, firstSection, statusWord } from "./differences.js";
import { verdictColumn } from "./differences.js";
import { el, nameElement } from "../frame/dom.js";
import { factList, figuresColumn, placeCode, textsColumn } from "../frame/tables.js";
import { widest } from "../frame/measure.js";
import { figure } from "../frame/text.js";
import { marked } from "../grid/treegrid.js";

const LETTER = 7.4;

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
  available: ({ record }) => record.layers.count > 0,
  count: ({ record }) => record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    const { first } = store.page;
    const { a, b, input, output, status } = layers;
    const same = (row) => ["name", "type"].every((key) => a[key].get(row) === b[key].get(row));
    host.append(firstSection(store.page));
    return differenceGrid(host, {
      id: "calls", giveWay: ["limit", "shape-b", "shape-a", "b", "input-diff"],
      label: "Calls", count: layers.count, parent: layers.parent, status,
      selected: () => (store.selection.parameter < 0 ? store.selection.layer : -1),
      found: () => (store.filtered ? store.matches : null),
      choose: (row) => store.select({ layer: row }, "calls"),
      rowClass: (row) => (first?.layer === row ? "first-difference" : ""),
      columns: [
        textsColumn("a", store.page.sides[0], (row) => a.name.get(row), {
          min: widthOfA(layers, 120), grow: 3,
          cell: (row) => (a.type.get(row) === null
            ? notInA(b.name.get(row)) : callCell(a, row, store)),
        }),
        textsColumn("b", store.page.sides[1], (row) => b.name.get(row), {
          min: widthOfB(layers, same), grow: 2,
          cell: (row) => (same(row) ? asInA() : callCell(b, row, store)),
        }),
        ...shapeColumns("Output", output),
        differenceColumn("input-diff", "Input diff", input.relative, (row) => input.text.get(row)),
        differenceColumn("output-diff", "Output diff", output.relative,
          (row) => output.text.get(row)),
        limitColumn(output), verdictColumn(status, layers.verdict, { min: verdictWidth(layers) }),
      ],
    });
  },
};

export const statePanel = {
  id: "parameters",
  title: "Parameters",
  available: ({ record }) => record.parameters.count > 0,
  count: ({ record }) => record.parameters.count,
  create(host, store) {
    const { parameters } = store.record;
    const { a, b, value, gradient, status } = parameters;
    return differenceGrid(host, {
      id: "parameters", giveWay: ["limit", "kind", "shape-b", "shape-a", "b"],
      label: "Parameters and buffers", count: parameters.count, status,
      selected: () => store.selection.parameter,
      found: () => (store.filtered ? store.parameterMatches : null),
      choose: (row) => store.select({ parameter: row }, "parameters"),
      columns: [
        textsColumn("a", store.page.sides[0], (row) => a.get(row), {
          min: widthOfA(parameters, 30), grow: 3, cell: (row) => markedName(a.get(row), store),
        }),
        textsColumn("b", store.page.sides[1], (row) => b.get(row), {
          min: widthOfB(parameters, (row) => a.get(row) === b.get(row)), grow: 2,
          cell: (row) => (a.get(row) === b.get(row) ? asInA() : markedName(b.get(row), store)),
        }),
        textsColumn("kind", "Kind", (row) => parameters.kind.get(row), { min: 90, grow: 0 }),
        ...shapeColumns("Shape", value),
        differenceColumn("value", "Value diff", value.relative, (row) => value.text.get(row)),
        differenceColumn("gradient", "Gradient diff", gradient.relative,
          (row) => gradient.text.get(row)),
        limitColumn(value), verdictColumn(status, parameters.verdict, { min: verdictWidth(parameters) }),
      ],
    });
  },
};

function widthOfA({ name }, more) {
  const letters = name.texts.reduce((most, text) => Math.max(most, text.length), 10);
  return Math.min(300, more + LETTER * letters);
}

// B needs no room if it has the names of A.
function widthOfB({ count }, same) {
  return Array.from({ length: count }, (_, row) => row).every(same) ? 80 : 160;
}

function muted(text) {
  return el("span", { class: "muted", text });
}

function notInA(name) {
  return el("bdi", { class: "muted" }, "none, in B ", nameElement(name ?? "(not registered)"));
}

function asInA() {
  return muted("as in A");
}

function markedName(name, { query }) {
  return name === null ? muted("none") : el("bdi", { class: "name" }, marked(name, query.text));
}

function callCell(side, row, store) {
  const type = side.type.get(row);
  if (type === null) return muted("none");
  const name = side.name.get(row) ?? "(not registered)";
  const call = side.call[row] > 0 ? ` #${side.call[row]}` : "";
  return el("bdi", {}, markedName(name || "(root)", store), " ",
    el("bdi", { class: "muted" }, marked(type, store.query.text)), call);
}

function shapeColumns(title, { shape_a: ours, shape_b: theirs }) {
  const isAlike = ours.at.every((_, row) => ours.get(row) === theirs.get(row));
  const isSame = (row) => ours.get(row) !== null && ours.get(row) === theirs.get(row);
  return [
    textsColumn("shape-a", `${title} in A`, (row) => ours.get(row), { min: shapeWidth(ours) }),
    textsColumn("shape-b", `${title} in B`, (row) => theirs.get(row), {
      min: isAlike ? 86 : shapeWidth(theirs), cell: (row) => (isSame(row) ? asInA() : theirs.get(row)),
    }),
  ];
}

function shapeWidth({ texts }) {
  return Math.max(86, Math.min(190, 18 + widest([...texts], "bold")));
}

function verdictWidth({ verdict }) {
  return Math.max(120, Math.min(280, 34 + widest([...verdict.texts], "bold")));
}

function limitColumn({ limit }) {
  return figuresColumn("limit", "Limit", limit, { width: 78 });
}

/** Return the aside with both sides of what is selected, and the differences of its tensors. */
export function createDiffDetails(store) {
  return createAside(() => {
    const { record, selection: { layer, parameter } } = store;
    const { layers, parameters } = record;
    const parts = [];
    if (parameter >= 0) {
      const { a, b, kind, values, gradients, name } = parameters;
      parts.push(differenceDetails(name.get(parameter), parameters, parameter, [
        ["A", a.get(parameter) ?? "none"], ["B", b.get(parameter) ?? "none"],
        ["kind", kind.get(parameter)],
      ], { Value: values, Gradient: gradients }));
    }
    if (layer >= 0) {
      const { a, b, inputs, outputs } = layers;
      parts.push(differenceDetails(record.layerName(layer), layers, layer, [
        ...sideFacts("A", a, layer), ...sideFacts("B", b, layer),
      ], { Inputs: inputs, Outputs: outputs }));
    }
    return parts;
  });
}

function sideFacts(label, { type, name, place }, row) {
  if (type.get(row) === null) return [[label, "none"]];
  const facts = [[label, `${name.get(row) ?? "(not registered)"} (${type.get(row)})`]];
  return place.get(row) ? [...facts, ["", placeCode(place.get(row))]] : facts;
}

function differenceDetails(title, { status, verdict }, row, facts, tensors) {
  const known = Object.entries(tensors).filter(([, rows]) => rows[row]);
  return el("section", { class: "detail" }, el("h3", {}, nameElement(title)),
    el("p", {}, statusWord(status.get(row), verdict.get(row))), factList(facts),
    ...known.map(([label, rows]) => el("div", { class: "detail" }, el("h4", { text: label }),
      ...rows[row].map(tensorFacts))));
}

function tensorFacts([path, otherPath, shape, otherShape, dtype, otherDtype, ...difference]) {
  const [relative, limit, how, status] = difference;
  const both = (ours, theirs) => (theirs === null ? ours : `${ours} | ${theirs}`);
  return factList([
    ["tensor", both(path || "value", otherPath)], ["shape", both(shape, otherShape)],
    ["dtype", both(dtype, otherDtype)], ["difference", figure(relative)], ["limit", figure(limit)],
    ["compared by", how ?? "–"], ["status", statusWord(status)],
  ]);
}
