/** The gradients of a record as rows: of parameters or of layers, and what is wrong with them. */

import { codeOf, joined, markOf } from "./gradient_cells.js";
import { CellBytes } from "./heatmap.js";
import { RowNames } from "./row_names.js";

/** Return the gradient of a parameter in the last step, in the way that the grid has it. */
function lastOf({ status, grad_norm: norms }, row) {
  if (norms[row] !== null) return norms[row];
  const word = status.get(row);
  return word === "frozen" ? word : word === "none" ? null : "";
}

/**
 * The rows of a plot. `value(id, column)` is the gradient of a row in a step, `cells` its bytes,
 * `forward` the rows in the order in which forward first called their layers, `layer(id)` and
 * `parameter(id)` the rows in the tables of the record (-1: none).
 */
class GradientTable {
  constructor(record, names, columns, about) {
    Object.assign(this, about);
    this.names = new RowNames(names);
    this.columns = columns;
    this.count = names.length;
    this.cells = new CellBytes(names.length, columns);
    const { scale } = record.parameters;
    const [low, high] = (scale ?? [1, 10]).map(Math.log10);
    for (let id = 0; id < names.length; id += 1) {
      for (let at = 0; at < columns; at += 1) {
        this.cells.bytes[id * columns + at] = codeOf(this.value(id, at), low, high);
      }
    }
  }
}

/** Return the rows of all parameters; `steps` are the numbers of the columns, [] for a single one. */
export function parameterTable(record) {
  const { parameters } = record;
  const { grid, steps, count } = parameters;
  const names = [];
  for (let row = 0; row < count; row += 1) names.push(parameters.name.get(row));
  const orders = parameters.layer.map((layer) => orderOf(record, layer));
  const forward = names.map((_, row) => row).sort((a, b) => orders[a] - orders[b] || a - b);
  return new GradientTable(record, names, steps.length || 1, {
    noun: "parameter", forward,
    value: steps.length ? (id, at) => grid[id][at] : (id) => lastOf(parameters, id),
    layer: (id) => parameters.layer[id],
    parameter: (id) => id,
  });
}

/** Return when a layer was first called; of a layer that was not, when the nearest around it was. */
function orderOf({ layers }, layer) {
  let row = layer;
  while (row >= 0 && layers.order[row] === null) row = layers.parent[row];
  return row < 0 ? -1 : layers.order[row];
}

/** Return the rows of the layers that own parameters, with the 2-norm of these together. */
export function layerTable(record, table) {
  const members = new Map();
  for (const id of table.forward) {
    const layer = table.layer(id);
    if (!members.has(layer)) members.set(layer, []);
    members.get(layer).push(id);
  }
  const owners = [...members.keys()];
  const names = owners.map((layer) => (layer < 0 ? "(no layer)" : record.layerName(layer)));
  const parts = [...members.values()];
  const values = parts.map((ids) => {
    const sums = [];
    for (let at = 0; at < table.columns; at += 1) {
      sums.push(ids.map((id) => table.value(id, at)).reduce(joined));
    }
    return sums;
  });
  return new GradientTable(record, names, table.columns, {
    noun: "layer", forward: owners.map((_, id) => id), members: parts,
    value: (id, at) => values[id][at],
    layer: (id) => owners[id],
    parameter: () => -1,
  });
}

const PROBLEMS = [
  { id: "none", always: "get no gradient", once: "gets no gradient" },
  { id: "zero", always: "are all zeros", once: "is all zeros" },
  { id: "nan", always: "are NaN", once: "is NaN", first: true },
  { id: "inf", always: "are infinite", once: "is infinite", first: true },
  { id: "frozen", always: "are frozen", once: "is frozen" },
];

/**
 * Return what is wrong: {id, text, rows, row, column}, where `rows` are the parameters with a mark
 * in a step, and `row` and `column` its first place. A missing or zero gradient in all steps is told
 * apart from one in some.
 */
export function problemsOf(table) {
  const found = new Map();
  for (const id of table.forward) {
    const marks = new Map();
    let measured = 0;
    for (let at = 0; at < table.columns; at += 1) {
      const mark = markOf(table.value(id, at))?.id ?? "";
      if (mark !== "unknown") measured += 1;
      if (mark && !marks.has(mark)) marks.set(mark, { column: at, count: 0 });
      if (mark) marks.get(mark).count += 1;
    }
    for (const [mark, { column, count }] of marks) {
      const some = count < measured && (mark === "none" || mark === "zero");
      const key = some ? `${mark} some` : mark;
      if (!found.has(key)) found.set(key, { id: mark, some, rows: [], row: id, column });
      const problem = found.get(key);
      problem.rows.push(id);
      if (column < problem.column) Object.assign(problem, { row: id, column });
    }
  }
  return PROBLEMS.flatMap(({ id, always, once, first }) =>
    [found.get(id), found.get(`${id} some`)].filter(Boolean).map((problem) => ({
      ...problem, first,
      text: (problem.rows.length === 1 ? once : always) + (problem.some ? " in some steps" : ""),
    })));
}
