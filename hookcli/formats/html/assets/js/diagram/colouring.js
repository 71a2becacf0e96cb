/** The colours of boxes: by type, or by a figure. */

import { figure, short } from "../frame/text.js";
import { kindOf } from "./drawing.js";

/** What boxes can be coloured by: the label, and what writes a figure. */
export const COLOURINGS = {
  type: { label: "type" },
  flops: { label: "FLOPs", write: short },
  parameters: { label: "parameters", write: short },
  gradient: { label: "gradient norm", write: figure },
};

/** The figures of all boxes by index; null if a box has none. */
export class BoxFigures {
  constructor(tree) {
    this.tree = tree;
    this.place = 0; // in the steps with gradients
    this.tables = new Map();
  }

  /** Whether any box has the figure. */
  has(id) {
    const { layers, parameters } = this.tree.record;
    const column = { flops: layers.flops, parameters: layers.parameters, gradient: parameters.grad_norm }[id];
    return !column || column.some((value) => value !== null);
  }

  /** Take the gradients of another of several steps; return whether they are others. */
  setStep(place) {
    if (place === this.place) return false;
    this.place = place;
    return this.tables.delete("gradient");
  }

  of(id) {
    if (!this.tables.has(id)) this.tables.set(id, this[id]());
    return this.tables.get(id);
  }

  flops() {
    const { flops } = this.tree.record.layers;
    return this.summed((box) => total(box.rows.map((row) => flops[row] ?? null)));
  }

  parameters() {
    const { parameters } = this.tree.record.layers;
    return this.summed((box) => parameters[box.row] ?? null);
  }

  /** The values of boxes; that of a group is the sum of its members. */
  summed(value) {
    const values = this.tree.list.map((box) => (box.group ? null : value(box)));
    for (const box of this.tree.list.toReversed()) {
      if (box.group) values[box.index] = total(box.children.map((child) => values[child.index]));
    }
    return values;
  }

  /** The norm of all gradients of the parameters in each box. */
  gradient() {
    const { list, ofRow, record } = this.tree;
    const squares = list.map(() => null);
    const norms = record.gradientsAt(this.place);
    record.parameters.layer.forEach((row, parameter) => {
      const norm = norms[parameter];
      if (norm === null || row < 0) return;
      const { index } = ofRow[row];
      squares[index] = (squares[index] ?? 0) + Number(String(norm).replace("inf", "Infinity")) ** 2;
    });
    for (const { index, parent } of list.toReversed()) {
      if (parent && squares[index] !== null) {
        squares[parent.index] = (squares[parent.index] ?? 0) + squares[index];
      }
    }
    return squares.map((square) => (square === null ? null : Math.sqrt(square)));
  }
}

function total(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

/** Colour the boxes of a drawing; return the entries of the legend, {class, strength, text}. */
export function colour(drawing, figures, id) {
  const closed = [...drawing.items.values()];
  if (id === "type") return colourByType(drawing, closed);
  const values = figures.of(id);
  const known = closed.filter((item) => !item.inner).map(({ box }) => values[box.index]);
  const positive = known.filter((value) => value > 0 && Number.isFinite(value));
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const strength = (value) =>
    least === most ? 0.4 : 0.06 + (0.5 * Math.log(value / least)) / Math.log(most / least);
  for (const { box, element, inner } of closed) {
    const value = inner ? null : values[box.index];
    const broken = value !== null && !Number.isFinite(value);
    paint(element, broken ? "nan" : value === null ? "none" : "amount", broken ? 0.6 : value > 0 ? strength(value) : 0);
  }
  if (!positive.length) return [];
  const { write } = COLOURINGS[id];
  const ends = least === most ? [[0.4, most]] : [[0.06, least], [0.56, most]];
  const entries = ends.map(([opacity, value]) => ({ kind: "amount", opacity, text: write(value) }));
  const broken = known.some((value) => value !== null && !Number.isFinite(value));
  return broken ? [...entries, { kind: "nan", opacity: 0.6, text: "NaN or Inf" }] : entries;
}

function colourByType({ tree }, items) {
  const kinds = new Set();
  for (const { box, element, inner } of items) {
    const container = box.children.length > 0;
    const kind = container ? "container" : kindOf(tree.type(box));
    paint(element, kind, inner ? 0.05 : 0.16);
    if (!container) kinds.add(kind);
  }
  return [...kinds].sort().map((kind) => ({ kind, opacity: 0.4, text: kind }));
}

function paint(element, kind, opacity) {
  element.dataset.kind = kind;
  element.style.setProperty("--strength", opacity.toFixed(2));
}
