/** The panel of layers: a tree of calls with their shapes, sizes, costs and findings. */

import { el, nameElement } from "./frame/dom.js";
import { widest } from "./frame/measure.js";
import { gridPanel } from "./grid/grid_panel.js";
import { gradientStep } from "./frame/steps.js";
import { bytes, figure, integer, short } from "./frame/text.js";
import { barCell, marked } from "./grid/treegrid.js";

// The width of a letter in px.
const LETTER = 7.3;
const GIVE_WAY = ["peak", "input", "activation"];

export const layersPanel = {
  id: "layers",
  title: "Layers",
  available: (store) => store.record.layers.count > 0,
  count: (store) => store.record.layers.count,
  stepNote(store) {
    const { text } = gradientStep(store);
    const { training } = store.record;
    const others = training?.sampled.length ? `; output gradients: step ${integer(training.sampled[0])}` : "";
    return text && `parameter gradients: ${text}${others}`;
  },
  create(host, store) {
    const { layers } = store.record;
    let { place } = gradientStep(store);
    const { grid, update } = gridPanel(host, {
      id: "layers",
      label: "Layers",
      count: layers.count,
      parent: layers.parent,
      columns: fitting(layerColumns(store, host.clientWidth), host.clientWidth),
      rowClass: (row) => (layers.call[row] < 0 ? "uncalled" : ""),
      matches: () => (store.filtered ? store.matches : null),
      selected: () => store.selection.layer,
      choose: (layer) => store.select({ layer }, "layers"),
    });
    return {
      update(change) {
        const now = gradientStep(store).place;
        if (now !== place) grid.revalue();
        place = now;
        update(change);
        if (change.type === "select" && change.origin !== "layers") grid.showInDocument();
      },
    };
  },
};

/** Return the columns that have values; the names take at most half of the `space` in px. */
function layerColumns(store, space) {
  const { record } = store;
  const { layers } = record;
  const query = () => store.query.text;
  const textOf = (name) => (row) => layers[name].get(row) || null;
  const all = [
    {
      id: "layer", title: "Layer", min: nameWidth(record, space), grow: 2,
      value: (row) => record.layerName(row),
      cell: (row, isFlat) => layerCell(record, row, query(), isFlat),
      hint: (row) => layerHint(record, row),
    },
    {
      id: "type", title: "Type", width: textWidth(layers.type, 70, 190), value: textOf("type"),
      cell: (row) => el("bdi", {}, marked(layers.type.get(row) ?? "", query())),
      hint: textOf("type"),
    },
    shapeColumn("input", "Input", layers.input),
    shapeColumn("output", "Output", layers.output),
    parameterColumn(layers),
    costColumn(layers, {
      id: "flops", title: "FLOPs", noun: "FLOPs", write: short, exact: integer,
      help: "Floating-point operations of a call with all calls below it; the dark part is its own",
    }),
    costColumn(layers, {
      id: "activation", title: "Activations", noun: "of activations", write: bytes, exact: bytes,
      help: "Memory of the outputs of a call and of all calls below it, each tensor once",
    }),
    costColumn(layers, {
      id: "saved", title: "Saved", noun: "saved for backward", write: bytes, exact: bytes,
      help: "Memory that autograd saves for the backward of a call and of all calls below it",
    }),
    costColumn(layers, {
      id: "peak", title: "Peak", noun: "in use", write: bytes, exact: bytes, adds: false,
      help: "Most memory in use while the call ran, with all that other calls left",
    }),
    normColumn("output_norm", "Output norm", "Norm of the first output", layers),
    normColumn("grad_norm", "Output gradient", "Norm of the gradient of the first output", layers),
    ...gradientColumns(store),
    {
      id: "status", title: "Status", width: textWidth(layers.status, 70, 220) + 14,
      value: textOf("status"), cell: (row) => statusCell(layers.status.get(row)),
      hint: (row) => layers.notes[row]?.join("\n"),
    },
  ];
  return all.filter(({ value }) => hasValues(value, layers.count));
}

function hasValues(value, count) {
  for (let row = 0; row < count; row += 1) if (value(row) !== null) return true;
  return false;
}

/** Hide the columns that others say best, if not all fit. */
function fitting(columns, space) {
  let needed = columns.reduce((sum, column) => sum + (column.width ?? column.min), 0);
  for (const id of GIVE_WAY) {
    const column = columns.find((each) => each.id === id);
    if (!column || needed <= space) continue;
    column.off = true;
    needed -= column.width ?? column.min;
  }
  return columns;
}

function textWidth({ texts }, least, most, font = "cell") {
  return Math.max(least, Math.min(most, 18 + widest([...texts], font)));
}

function nameWidth(record, space) {
  const { name, parent } = record.layers;
  const depths = new Int32Array(parent.length);
  // A call has a row after that of its caller.
  parent.forEach((above, row) => {
    if (above >= 0) depths[row] = depths[above] + 1;
  });
  const depth = depths.reduce((most, each) => Math.max(most, each), 0);
  const letters = name.texts.reduce(
    (most, text) => Math.max(most, text.length - text.lastIndexOf(".")), 6);
  const needed = 40 + 15 * Math.min(depth, 10) + LETTER * letters;
  return Math.round(Math.min(needed, 340, Math.max(space / 2, 150)));
}

// Names.

/** Return the name of a layer below its caller: `attn` under `h.0` for `h.0.attn`. */
function nameBelowCaller(record, row) {
  const name = record.layers.name.get(row);
  const above = record.layers.parent[row];
  const callers = [record.layers.name.get(above), ...record.layers.aliases[above] ?? []];
  const caller = name && callers.find((each) => each && name.startsWith(`${each}.`));
  return caller ? name.slice(caller.length + 1) : record.layerName(row);
}

function layerCell(record, row, query, isFlat) {
  const whole = record.layerName(row);
  const text = isFlat ? whole : nameBelowCaller(record, row);
  const call = record.layers.call[row];
  const name = nameElement("");
  name.append(marked(text, query, whole));
  if (call <= 0) return name;
  const fragment = document.createDocumentFragment();
  fragment.append(name, el("span", { class: "grid-call", text: `call ${call}` }));
  return fragment;
}

function layerHint(record, row) {
  const { layers } = record;
  const call = layers.call[row];
  const name = record.layerName(row) + (call > 0 ? `, call ${call}` : "");
  return [name, layers.type.get(row), layers.place.get(row)].filter(Boolean).join("\n");
}

// Shapes and figures.

function shapeColumn(id, title, column) {
  const value = (row) => column.get(row) || null;
  return {
    id, title, min: textWidth(column, 90, 190, "figures"), grow: 1, value, hint: value,
    cell: (row) => el("bdi", { class: "shape", text: value(row) ?? "–" }),
  };
}

function parameterColumn(layers) {
  const most = largest(layers.parameters);
  // A module that is called again has no parameters in addition to those of its first call.
  const value = (row) => (layers.call[row] > 0 ? null : layers.parameters[row]);
  return {
    id: "parameters", title: "Parameters", min: 150, grow: 1, align: "end", descending: true, value,
    help: "Parameters at and below a module; the dark part of the bar is its own",
    cell: (row) => {
      const count = layers.parameters[row];
      if (!count) return faint(integer(count));
      if (value(row) === null) return faint("reused");
      return barCell(integer(count), layers.own[row] / most, count / most);
    },
    hint: (row) => {
      const count = layers.parameters[row];
      if (!count) return null;
      const facts = [`${integer(count)} parameters (${percent(count / most)})`];
      facts.push(`${integer(layers.own[row])} of the module itself`);
      facts.push(`${integer(layers.trainable[row])} trainable`);
      return facts.join("\n");
    },
  };
}

/**
 * Return a column of figures. If they add up (`adds`), a row shows the sum of its own and those
 * below it; the bar tells them apart.
 */
function costColumn(layers, { id, title, help, noun, write, exact, adds = true }) {
  const own = layers[id];
  const { sums, partial } = adds ? subtotals(own, layers) : { sums: own, partial: [] };
  const most = largest(sums);
  const total = adds ? largest([sums.filter((_, row) => layers.parent[row] < 0)
    .reduce((sum, value) => sum + value, 0)]) : most;
  return {
    id, title, help, min: 126, grow: 1, align: "end", descending: true, value: (row) => sums[row],
    cell: (row) => {
      const sum = sums[row];
      if (!sum) return faint(sum === 0 && !partial[row] ? "0" : "–");
      const text = (partial[row] ? "≥ " : "") + write(sum);
      return barCell(text, adds ? own[row] / most : 0, sum / most);
    },
    hint: (row) => {
      const sum = sums[row];
      if (sum === null) return null;
      const facts = [`${exact(sum)} ${noun} (${percent(sum / total)})`];
      if (sum !== own[row]) facts.push(`${exact(own[row] ?? 0)} of the call itself`);
      if (partial[row]) facts.push("Some of it is not known");
      return facts.join("\n");
    },
  };
}

/** Return the sums of a figure over each call and the calls below, and whether some is unknown. */
function subtotals(values, { parent, call }) {
  const sums = [...values];
  const partial = values.map((value, row) => value === null && call[row] >= 0);
  // A call has a row after that of its caller.
  for (let row = sums.length - 1; row >= 0; row -= 1) {
    const above = parent[row];
    if (above < 0) continue;
    if (sums[row] !== null) sums[above] = (sums[above] ?? 0) + sums[row];
    partial[above] ||= partial[row];
  }
  return { sums, partial };
}

function normColumn(id, title, help, layers) {
  const norms = layers[id];
  return {
    id, title, help, width: 112, align: "end", descending: true,
    value: (row) => sortable(norms[row]),
    cell: (row) => normText(norms[row]),
  };
}

/** Return the column with the gradients of parameters in the selected step, if there are several. */
function gradientColumns(store) {
  const { record } = store;
  if (!(record.parameters.steps?.length > 1)) return [];
  let known = { place: -1 };
  const norms = () => {
    const { place } = gradientStep(store);
    if (known.place !== place) known = { place, values: gradientsBelow(record, place) };
    return known.values;
  };
  return [{
    id: "parameter_grad", title: "Parameter gradients", width: 150, align: "end", descending: true,
    help: "Norm of the gradients of all parameters at and below a module, in the step of the slider",
    value: (row) => sortable(norms()[row]),
    cell: (row) => normText(norms()[row]),
  }];
}

/** Return the norm of the gradients at and below each layer; null if there is none. */
function gradientsBelow(record, place) {
  const { parameters, layers } = record;
  const squares = layers.parent.map(() => null);
  record.gradientsAt(place).forEach((norm, parameter) => {
    const row = parameters.layer[parameter];
    if (norm === null || row < 0) return;
    squares[row] = (squares[row] ?? 0) + Number(String(norm).replace("inf", "Infinity")) ** 2;
  });
  // A call has a row after that of its caller.
  for (let row = squares.length - 1; row >= 0; row -= 1) {
    const above = layers.parent[row];
    if (above >= 0 && squares[row] !== null) squares[above] = (squares[above] ?? 0) + squares[row];
  }
  return squares.map((square) => {
    if (square === null || Number.isFinite(square)) return square === null ? null : Math.sqrt(square);
    return Number.isNaN(square) ? "nan" : "inf";
  });
}

function normText(norm) {
  if (norm === null) return faint("–");
  return typeof norm === "string" ? el("span", { class: "wrong", text: norm }) : figure(norm);
}

function sortable(norm) {
  return typeof norm === "string" ? { nan: Infinity, inf: Number.MAX_VALUE }[norm] ?? 0 : norm;
}

function largest(values) {
  return values.reduce((most, value) => Math.max(most, value ?? 0), 0) || 1;
}

function percent(share) {
  return share > 0 && share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(1)} %`;
}

function faint(text) {
  return el("span", { class: "muted", text });
}

function statusCell(words) {
  const fragment = document.createDocumentFragment();
  for (const word of (words ?? "").split(" ").filter(Boolean)) {
    fragment.append(el("span", { class: `status status-${word}`, text: word }));
  }
  return fragment;
}
