/** Which rows of a tree are shown, and in what order: folds, a filter and a sort. No elements. */

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * The rows of a tree by index, or of a flat list if there is no `parent` (the row of the parent by
 * row, -1: none). After each change `rows` has the shown rows in order, `levels` their levels and
 * `positions` their places among their siblings, both from 1, `sizes` how many siblings there are,
 * and `index` the place of each row in `rows`, -1 if it is not shown.
 */
export class TreeRows {
  constructor(count, parent = null) {
    this.count = count;
    this.parent = parent;
    this.isTree = parent !== null;
    this.first = new Int32Array(count + 2);
    this.children = new Int32Array(count);
    this.depth = new Int32Array(count);
    this.open = new Uint8Array(count);
    this.index = new Int32Array(count).fill(-1);
    this.roots = Int32Array.from({ length: this.isTree ? 0 : count }, (_, row) => row);
    this.values = null;
    this.sign = 1;
    this.matches = null;
    this.kept = null;
    this.below = null;
    this.pin = -1;
    this.listed = false;
    this.forget();
    if (this.isTree) this.link();
    this.deepest = this.depth.reduce((most, depth) => Math.max(most, depth), 0);
    this.setDepth(this.deepest);
  }

  /** Sort the rows under their parents: those of row r are children[first[r] … first[r + 1]]. */
  link() {
    const { count, parent, first, children } = this;
    for (let row = 0; row < count; row += 1) {
      if (parent[row] >= 0) first[parent[row] + 2] += 1;
    }
    for (let row = 2; row < first.length; row += 1) first[row] += first[row - 1];
    const roots = [];
    for (let row = 0; row < count; row += 1) {
      if (parent[row] < 0) roots.push(row);
      else {
        children[first[parent[row] + 1]] = row;
        first[parent[row] + 1] += 1;
      }
    }
    this.roots = Int32Array.from(roots);
    const stack = [...roots];
    while (stack.length) {
      const row = stack.pop();
      for (let at = first[row]; at < first[row + 1]; at += 1) {
        this.depth[children[at]] = this.depth[row] + 1;
        stack.push(children[at]);
      }
    }
  }

  /** Whether rows are shown without levels: in a list, and matches if they are sorted. */
  get isFlat() {
    return !this.isTree || this.listed || (this.matches !== null && this.values !== null);
  }

  hasChildren(row) {
    return this.first[row + 1] > this.first[row];
  }

  /** Whether a row can be opened or closed where it is shown. */
  canFold(row) {
    return !this.isFlat && this.hasChildren(row);
  }

  isOpen(row) {
    if (!this.canFold(row)) return false;
    if (!this.kept) return this.open[row] === 1;
    return this.explored.has(row) || (this.below[row] === 1 && !this.closed.has(row));
  }

  /** Open or close rows. Folds that are changed while there is a filter end with it. */
  fold(rows, open) {
    for (const row of rows) {
      if (!this.kept) this.open[row] = open ? 1 : 0;
      else if (!open) {
        this.explored.delete(row);
        this.closed.add(row);
      } else if (this.below[row]) this.closed.delete(row);
      else this.explored.add(row);
    }
    this.rebuild();
  }

  /** Open all rows above `depth`, and close all others. */
  setDepth(depth) {
    this.openDepth = Math.max(0, Math.min(depth, this.deepest));
    this.forget();
    for (let row = 0; row < this.count; row += 1) {
      const open = this.depth[row] < this.openDepth;
      if (!this.kept) this.open[row] = open ? 1 : 0;
      else if (!open) this.closed.add(row);
    }
    this.rebuild();
  }

  /** Open as many levels as have `most` rows together, and at least the first two. */
  openUpTo(most) {
    const counts = new Int32Array(this.deepest + 2);
    for (const depth of this.depth) counts[depth] += 1;
    let depth = 0;
    let shown = counts[0];
    while (depth < this.deepest && shown + counts[depth + 1] <= most) {
      depth += 1;
      shown += counts[depth];
    }
    this.setDepth(Math.max(depth, 1));
  }

  /** Show the rows that match (a number for each row, 0: no) and what is above them; null: all. */
  filter(matches) {
    this.matches = matches;
    this.pin = -1;
    this.forget();
    this.keep();
    this.rebuild();
  }

  keep() {
    const { matches, parent } = this;
    this.kept = matches && new Uint8Array(this.count);
    this.below = matches && new Uint8Array(this.count);
    if (!matches) return;
    for (let row = 0; row < this.count; row += 1) {
      if (!matches[row] && row !== this.pin) continue;
      this.kept[row] = 1;
      if (!this.isTree) continue;
      for (let above = parent[row]; above >= 0 && !this.below[above]; above = parent[above]) {
        this.below[above] = 1;
        this.kept[above] = 1;
      }
    }
  }

  forget() {
    this.closed = new Set();
    this.explored = new Set();
  }

  /** Sort siblings by `values` (a number or string by row, null: last); null: by row. */
  sort(values, descending = false) {
    this.values = values;
    this.sign = descending ? -1 : 1;
    this.rebuild();
  }

  /** Show all rows as a list without levels, or as a tree again. */
  setListed(listed) {
    this.listed = listed;
    this.rebuild();
  }

  /** Open what is above a row; a row that does not match a filter is shown until the next one. */
  reveal(row) {
    const above = [];
    if (this.isTree) for (let at = this.parent[row]; at >= 0; at = this.parent[at]) above.push(at);
    if (this.kept && !this.kept[row] && this.index[row] < 0) {
      this.pin = row;
      this.keep();
    }
    for (const at of above) {
      this.open[at] = 1;
      this.closed.delete(at);
    }
    this.rebuild();
  }

  /** Return the children of a row that are shown if it is open; -1: the rows without a parent. */
  list(row) {
    let all = row < 0 ? this.roots : this.children.subarray(this.first[row], this.first[row + 1]);
    if (this.kept && !this.explored.has(row)) {
      all = all.filter((at) => this.kept[at]);
    }
    return this.values && all.length > 1 ? this.sorted(all) : all;
  }

  sorted(rows) {
    const { values, sign } = this;
    return [...rows].sort((a, b) => {
      const x = values[a];
      const y = values[b];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      const numbers = typeof x === "number" && typeof y === "number";
      return sign * (numbers ? x - y : COLLATOR.compare(x, y)) || a - b;
    });
  }

  rebuild() {
    const { index, isFlat } = this;
    this.rows = [];
    this.levels = [];
    this.positions = [];
    this.sizes = [];
    index.fill(-1);
    const all = isFlat && this.isTree;
    const frames = [{ list: all ? this.everyRow() : this.list(-1), next: 0 }];
    while (frames.length) {
      const { list, next } = frames.at(-1);
      if (next === list.length) {
        frames.pop();
        continue;
      }
      const row = list[next];
      frames.at(-1).next += 1;
      index[row] = this.rows.length;
      this.rows.push(row);
      this.levels.push(frames.length);
      this.positions.push(next + 1);
      this.sizes.push(list.length);
      if (this.isOpen(row)) frames.push({ list: this.list(row), next: 0 });
    }
  }

  everyRow() {
    const rows = [];
    for (let row = 0; row < this.count; row += 1) {
      if (!this.matches || this.matches[row] || row === this.pin) rows.push(row);
    }
    return this.values ? this.sorted(rows) : rows;
  }

  /** Return the nearest row above a row that is shown, or the first row; -1: none is shown. */
  nearest(row) {
    let at = row;
    while (at >= 0 && this.index[at] < 0) at = this.isTree ? this.parent[at] : -1;
    return at >= 0 ? at : this.rows[0] ?? -1;
  }
}
