/** The gradients of a record as rows: of parameters or of layers, and what is wrong with them. */

import { MARKS, codeOf, joined } from "./cells.js";
import { CellBytes } from "./heatmap.js";
import { RowNames } from "./row_names.js";

const NOT_MEASURED = MARKS.at(-1).code;
const SOMETIMES = ["none", "zero"];

/**
 * The rows of a plot: `value(id, column)` is a gradient, `cells` its byte, `codes` the bytes that
 * occur, `layer(id)` the row of the layer, `forward` the rows in the order of its first call.
 */
class GradientTable {
  constructor(record, names, columns, about) {
    Object.assign(this, about, { columns, count: names.length, names: new RowNames(names) });
    const { bytes } = this.cells = new CellBytes(names.length, columns);
    const [low, high] = (record.parameters.scale ?? [1, 10]).map(Math.log10);
    for (let at = 0; at < bytes.length; at += 1) {
      bytes[at] = codeOf(this.value(Math.floor(at / columns), at % columns), low, high);
    }
    this.codes = new Set(bytes);
  }
}

/** Return the rows of all parameters: a column for each step, or one. */
export function parameterTable(record) {
  const { grid, steps, name, layer, status, grad_norm: norms } = record.parameters;
  const last = (id) => norms[id] ?? { frozen: "frozen", none: null }[status.get(id)];
  const orders = layer.map((row) => orderOf(record.layers, row));
  return new GradientTable(record, layer.map((_, id) => name.get(id)), steps.length || 1, {
    noun: "parameter",
    value: (id, at) => {
      const value = steps.length ? grid[id][at] : last(id);
      return value === undefined ? "" : value;
    },
    layer: (id) => layer[id],
    forward: orders.map((_, id) => id).sort((a, b) => orders[a] - orders[b]),
  });
}

/** Return when a layer was first called, or when the nearest around it was. */
function orderOf(layers, layer) {
  let row = layer;
  while (row >= 0 && layers.order[row] === null) row = layers.parent[row];
  return row < 0 ? -1 : layers.order[row];
}

/** Return the rows of the layers that own parameters, with the 2-norm of these together. */
export function layerTable(record, { forward, layer, value, columns }) {
  const members = new Map();
  for (const id of forward) {
    if (!members.has(layer(id))) members.set(layer(id), []);
    members.get(layer(id)).push(id);
  }
  const owners = [...members.keys()];
  const values = [...members.values()].map((ids) => Array.from({ length: columns }, (_, at) =>
    ids.map((id) => value(id, at)).reduce(joined)));
  const names = owners.map((row) => (row < 0 ? "(no layer)" : record.layerName(row)));
  return new GradientTable(record, names, columns, {
    noun: "layer",
    value: (id, at) => values[id][at],
    layer: (id) => owners[id],
    members: (id) => members.get(owners[id]),
    forward: owners.map((_, id) => id),
  });
}

/**
 * Return what is wrong: {id, some, rows, row, column} for each mark, where `rows` are the
 * parameters with it, `row` and `column` its first place, and `some` says that other steps lack it.
 */
export function problemsOf({ forward, columns, cells }) {
  const found = new Map();
  for (const id of forward) {
    const row = cells.bytes.subarray(id * columns, (id + 1) * columns);
    for (const mark of MARKS.slice(0, -1)) {
      const column = row.indexOf(mark.code);
      if (column < 0) continue;
      const some = SOMETIMES.includes(mark.id) &&
        row.some((code) => code !== mark.code && code !== NOT_MEASURED);
      const key = `${mark.id} ${some}`;
      if (!found.has(key)) found.set(key, { id: mark.id, some, rows: [], row: id, column });
      const problem = found.get(key);
      problem.rows.push(id);
      if (column < problem.column) Object.assign(problem, { row: id, column });
    }
  }
  return [...found.values()];
}
