/** The panels of weights: the tensors of a file, and what changed between two files. */

import { createAside } from "../frame/details.js";
import { differenceColumn, differenceGrid, firstSection, statusWord, verdictColumn } from "./differences.js";
import { el, nameElement } from "../frame/dom.js";
import { factList, figuresColumn, textsColumn } from "../frame/tables.js";
import { bytes, figure, integer } from "../frame/text.js";
import { gridPanel } from "../grid/grid_panel.js";
import { marked } from "../grid/treegrid.js";

const MEASURED = { norm: "Norm", mean: "Mean", std: "Std", min: "Min", max: "Max" };
const COUNTED = { zeros: "Zeros", nans: "NaN", infs: "Inf" };

export const tensorsPanel = {
  id: "tensors",
  title: "Tensors",
  available: ({ record }) => record.layers.count > 0,
  count: ({ record }) => record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    host.append(firstSection({ ...store.page, first: null }));
    return gridPanel(host, {
      id: "tensors", giveWay: ["file", "min", "max", "zeros", "mean", "std"],
      label: "Tensors", count: layers.count,
      ...selection(store, "tensors"),
      columns: [
        nameColumn(store), ...describedColumns(layers),
        figuresColumn("bytes", "Size", layers.bytes, { cell: (row) => bytes(layers.bytes[row]) }),
        ...Object.entries(MEASURED).map(([key, title]) => figuresColumn(key, title, layers[key])),
        ...Object.entries(COUNTED).map(([key, title]) => countColumn(key, title, layers[key])),
        textsColumn("file", "File", (row) => layers.file.get(row)),
      ],
    });
  },
};

export const changesPanel = {
  id: "changes",
  title: "Changes",
  available: ({ record }) => record.layers.count > 0,
  count: ({ record }) => record.layers.count,
  create(host, store) {
    const { layers } = store.record;
    host.append(firstSection({ ...store.page, first: null }));
    return differenceGrid(host, {
      id: "changes", giveWay: ["norm", "differing", "dtype", "shape"],
      label: "Tensors of A and B", count: layers.count, status: layers.status,
      selected: () => store.selection.layer,
      choose: (row) => store.select({ layer: row }, "changes"),
      found: () => (store.filtered ? store.matches : null),
      columns: [
        nameColumn(store), ...describedColumns(layers),
        figuresColumn("norm", "Norm in A", layers.norm),
        differenceColumn("relative", "Relative", layers.relative),
        figuresColumn("largest", "Largest", layers.largest),
        countColumn("differing", "Differ", layers.differing),
        verdictColumn(layers.status),
      ],
    });
  },
};

function selection(store, id) {
  return {
    selected: () => store.selection.layer,
    choose: (row) => store.select({ layer: row }, id),
    matches: () => (store.filtered ? store.matches : null),
  };
}

function nameColumn(store) {
  const { layers } = store.record;
  return textsColumn("name", "Tensor", (row) => layers.name.get(row), {
    min: 220, grow: 3,
    cell: (row) => el("bdi", { class: "name" }, marked(layers.name.get(row), store.query.text)),
  });
}

function describedColumns(layers) {
  return [
    textsColumn("shape", "Shape", (row) => layers.shape.get(row), { min: 90 }),
    textsColumn("dtype", "Dtype", (row) => layers.type.get(row), { min: 80 }),
  ];
}

function countColumn(id, title, values) {
  return figuresColumn(id, title, values, { width: 90, cell: (row) => integer(values[row]) });
}

/** Return the aside with what is known of the selected tensor. */
export function createTensorDetails(store) {
  return createAside(() => {
    const { record: { layers }, selection: { layer } } = store;
    if (layer < 0) return [];
    const text = (key) => layers[key].get(layer);
    return [detail(text("name"), [
      ["shape", text("shape")], ["dtype", text("type")], ["elements", integer(layers.numel[layer])],
      ["bytes", integer(layers.bytes[layer])],
      ...Object.keys(MEASURED).map((key) => [key, figure(layers[key][layer])]),
      ...Object.entries(COUNTED).map(([key, title]) => [title, integer(layers[key][layer])]),
      ["file", text("file")], ["part", text("part")], ["layout", text("layout")],
      ["shares its storage with", text("shared")], ["not read", text("unread")],
    ])];
  });
}

/** Return the aside with the difference of the selected tensor. */
export function createChangeDetails(store) {
  return createAside(() => {
    const { record: { layers }, selection: { layer } } = store;
    if (layer < 0) return [];
    const text = (key) => layers[key].get(layer);
    return [detail(text("name"), [
      ["in B", text("other")], ["shape", text("shape")], ["dtype", text("type")],
      ["elements", integer(layers.numel[layer])], ["norm in A", figure(layers.norm[layer])],
      ["relative", figure(layers.relative[layer])], ["largest", figure(layers.largest[layer])],
      ["differ", integer(layers.differing[layer])], ["status", statusWord(text("status"))],
      ["not compared", text("why")],
    ])];
  });
}

function detail(title, facts) {
  return el("section", { class: "detail" }, el("h3", {}, nameElement(title)),
    factList(facts.filter(([, value]) => value !== null)));
}
