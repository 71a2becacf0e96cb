/**
 * The boxes of the diagram: modules within modules, made from the calls of a record.
 *
 * Calls of one module in one place are one box. A module without parameters that runs a few times
 * in each call of its container has a box for each time, so that the flow has no cycles: a ReLU.
 */

import { integer } from "../frame/text.js";

const MOST_CHILDREN = 60;
const MOST_RANGES = 20;
const MOST_TIMES = 8;
const SHORTEST_RUN = 4;

/** A box: the rows of its calls and its children. A `group` stands for a range of siblings. */
class Box {
  constructor(rows, parent, time = -1) {
    this.rows = rows;
    this.parent = parent;
    this.time = time;
    this.children = [];
    this.group = rows.length === 0;
  }

  get row() {
    return this.rows[0] ?? -1;
  }

  /** The box of the module that a group stands in. */
  get owner() {
    return this.group && this.parent ? this.parent.owner : this;
  }

  contains(box) {
    return this.index <= box.index && box.index < this.end;
  }
}

/** All boxes of a record. `list` has each before those within it, `ofRow` the box of each call. */
export class BoxTree {
  constructor(record) {
    this.record = record;
    this.parents = record.layers.parent;
    const canvas = new Box([-1], null);
    this.fill(canvas);
    const only = canvas.children.length === 1 ? canvas.children[0] : null;
    this.root = only?.children.length ? only : canvas;
    this.root.parent = null;
    this.list = [];
    this.levels = [];
    this.ofRow = new Array(record.layers.count).fill(this.root);
    this.number(this.root, 0);
  }

  fill(box) {
    const { layers, children } = this.record;
    const found = new Map();
    for (const row of box.rows) {
      const rows = children.get(row) ?? [];
      const totals = new Map();
      for (const child of rows) {
        const name = layers.name.get(child);
        totals.set(name, (totals.get(name) ?? 0) + 1);
      }
      const plain = (child) => !children.has(child) && !layers.parameters[child];
      const others = rows.filter((child) => !plain(child)).map((child) => totals.get(layers.name.get(child)));
      const loops = Math.max(1, ...others); // what runs as often as they do is in the same loop
      const times = new Map();
      for (const child of rows) {
        const name = layers.name.get(child);
        const time = times.get(name) ?? 0;
        times.set(name, time + 1);
        const total = totals.get(name);
        const apart = total > loops && total <= MOST_TIMES && plain(child);
        const key = name === null ? `@${child}` : apart ? `${name}~${time}` : name;
        if (!found.has(key)) found.set(key, new Box([], box, apart ? time : -1));
        found.get(key).rows.push(child);
      }
    }
    box.children = [...found.values()];
    for (const child of box.children) {
      child.group = false;
      this.fill(child);
    }
    box.children = this.grouped(box.children, box, true);
  }

  /** Return boxes for a container's children: groups of them, if they are many. */
  grouped(boxes, parent, runs) {
    if (boxes.length <= MOST_CHILDREN) return boxes;
    const parts = runs ? this.runs(boxes) : [];
    if (parts.length > 1 && parts.length <= MOST_CHILDREN) {
      return parts.flatMap((part) => (part.length < SHORTEST_RUN ? part : [this.group(part, parent)]));
    }
    const step = boxes.length > 10 * MOST_RANGES ? 10 : 5;
    const size = Math.ceil(boxes.length / MOST_RANGES / step) * step;
    const ranges = [];
    for (let start = 0; start < boxes.length; start += size) {
      ranges.push(this.group(boxes.slice(start, start + size), parent));
    }
    return ranges;
  }

  runs(boxes) {
    const parts = [];
    for (const box of boxes) {
      const last = parts.at(-1);
      if (last && this.sort(last[0]) === this.sort(box)) last.push(box);
      else parts.push([box]);
    }
    return parts;
  }

  /** Return what the boxes of a run have in common: the type, and the name without the index. */
  sort(box) {
    return `${this.type(box)} ${this.fullName(box).replace(/[^.]*$/, "")}`;
  }

  group(members, parent) {
    const group = new Box([], parent);
    group.members = members;
    for (const member of members) member.parent = group;
    group.children = this.grouped(members, group, false);
    return group;
  }

  number(box, level) {
    box.index = this.list.length;
    box.level = level;
    this.list.push(box);
    this.levels[level] = (this.levels[level] ?? 0) + 1;
    for (const row of box.rows) if (row >= 0) this.ofRow[row] = box;
    for (const child of box.children) this.number(child, level + 1);
    box.end = this.list.length;
    box.first = box.group ? box.children[0].first : box.row;
  }

  type(box) {
    return this.record.layers.type.get(box.row) ?? "";
  }

  /** Return the row within `rows` of the call of `box` that `row` ran in; -1 if there is none. */
  callOf(row, box) {
    const { rows } = box.owner;
    if (rows.length === 1) return rows[0];
    let at = row;
    while (at >= 0 && this.ofRow[at] !== box.owner) at = this.parents[at];
    return at;
  }

  /** Return the box that is drawn for each box if `expanded` are open, by index. */
  shown(expanded) {
    const shown = new Array(this.list.length);
    for (const box of this.list) {
      const above = box.parent ? shown[box.parent.index] : null;
      shown[box.index] = above && (above !== box.parent || !expanded.has(above)) ? above : box;
    }
    return shown;
  }

  /** Return how many boxes are drawn if `expanded` are open. */
  count(expanded) {
    const shown = this.shown(expanded);
    return this.list.reduce((sum, box) => sum + (shown[box.index] === box ? 1 : 0), 0);
  }

  /** Return the boxes that have to be open for all boxes of a level to be drawn. */
  above(level) {
    return new Set(this.list.filter((box) => box.children.length && (box.level < level || !box.parent)));
  }

  /** Return the number of the deepest level with a container. */
  get deepest() {
    return this.levels.length - 1;
  }

  /** Return a box's name without those of the modules around it. */
  name(box) {
    if (box.group) return `${integer(box.members.length)} × ${this.types(box)}`;
    const name = this.fullName(box);
    const above = box.parent ? this.record.layers.name.get(box.parent.owner.row) : "";
    return above && name.startsWith(`${above}.`) ? name.slice(above.length + 1) : name;
  }

  fullName(box) {
    if (box.group) {
      const [first, last] = [box.members[0], box.members.at(-1)];
      return `${this.fullName(first)} … ${this.fullName(last)}`;
    }
    return box.row < 0 ? "" : this.record.layerName(box.row);
  }

  types(box) {
    const types = [...new Set(box.members.map((member) => this.type(member)))];
    return types.length > 3 ? "modules" : types.join(", ");
  }
}
