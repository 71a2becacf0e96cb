/**
 * The flow between the boxes that are drawn. Each open box has a flat graph of its own: its
 * children, the operators between them, and the ports "in" and "out" that lead to its surroundings.
 */

const BATCH = -1;
const MOST_OUTPUTS = 4; // tensors of a call: of more, as with caches, only the boxes are linked

// Operators that join tensors; of those in a chain, the strongest is where the tensors meet.
const STRONG_JOINS = new Set([
  "add", "sub", "cat", "concat", "stack", "matmul", "bmm", "baddbmm", "mm", "einsum",
  "scaled_dot_product_attention", "where", "lerp",
]);
const WEAK_JOINS = new Set(["mul", "div", "maximum", "minimum", "pow", "addmm", "addcmul"]);
// Operators that only arrange elements are not worth a label.
const QUIET_OPERATORS = new Set([
  "view", "reshape", "_unsafe_view", "transpose", "permute", "contiguous", "expand", "clone", "t",
  "detach", "slice", "select", "unsqueeze", "squeeze", "split", "chunk", "flatten", "alias",
  "unbind", "to", "_to_copy", "split_with_sizes", "as_strided", "getitem", "unflatten",
]);

/**
 * Return the edges of a record by the tensor that they lead to; those of outputs come last. The
 * tensors that a container only passes on, as a cache, are not among its inputs.
 */
export function tensorsOf(record) {
  const { edges } = record;
  const idle = unusedInputs(record);
  const tensors = new Map();
  const order = [...Array(edges.count).keys()];
  order.sort((a, b) => edges.end[a] - edges.end[b] || a - b);
  const outputs = new Map();
  for (const edge of order) {
    const key = `${edges.target[edge]}/${edges.end[edge]}/${edges.input.at[edge]}`;
    if (!tensors.has(key)) {
      const [target, end] = [edges.target[edge], edges.end[edge]];
      tensors.set(key, { target, end, edges: [] });
      if (end) outputs.set(target, (outputs.get(target) ?? 0) + 1);
    }
    tensors.get(key).edges.push(edge);
  }
  const all = [...tensors.values()].filter((tensor) => !tensor.edges.some((edge) => idle.has(edge)));
  for (const tensor of all) tensor.aside = tensor.end && outputs.get(tensor.target) > MOST_OUTPUTS;
  return all;
}

function unusedInputs({ edges, layers, children }) {
  const { source, target, end, output, count } = edges;
  const last = layers.parent.map((_, row) => row);
  for (let row = layers.count - 1; row >= 0; row -= 1) {
    const above = layers.parent[row];
    if (above >= 0) last[above] = Math.max(last[above], last[row]);
  }
  const used = new Map(); // by row of a container: the tensors from outside that its calls use
  const use = (edge, from) => {
    const made = source[edge];
    for (let at = from; at >= 0 && !(at <= made && made <= last[at]); at = layers.parent[at]) {
      if (!used.has(at)) used.set(at, new Set());
      used.get(at).add(`${made}/${output.at[edge]}`);
    }
  };
  const containers = [];
  for (let edge = 0; edge < count; edge += 1) {
    if (end[edge]) use(edge, target[edge]);
    else if (children.has(target[edge])) containers.push(edge);
    else use(edge, layers.parent[target[edge]]);
  }
  // A container whose calls use nothing from outside uses its inputs itself.
  const opaque = containers.filter((edge) => !used.has(target[edge]));
  for (const edge of opaque) use(edge, layers.parent[target[edge]]);
  const idle = new Set();
  for (const edge of containers) {
    const inner = used.get(target[edge]);
    if (inner && !inner.has(`${source[edge]}/${output.at[edge]}`)) idle.add(edge);
  }
  return idle;
}

/** Return the operators of a chain that are worth a label. */
export function loudOperators(through) {
  return through.filter((name) => !QUIET_OPERATORS.has(name));
}

/** Return the shapes of the batch's tensors by path, as the calls got them that got them unchanged. */
function batchShapes(edges) {
  const shapes = new Map();
  for (let edge = 0; edge < (edges?.count ?? 0); edge += 1) {
    if (edges.source[edge] === BATCH && !edges.through.get(edge)) {
      shapes.set(edges.output.at[edge], edges.shape.get(edge));
    }
  }
  return shapes;
}

class FlatGraph {
  constructor() {
    this.links = new Map();
    this.operators = new Map();
  }

  link(from, to, { made = null, key = "", through = [] } = {}) {
    const id = `${from}>${to}`;
    if (!this.links.has(id)) {
      this.links.set(id, { from, to, shapes: new Set(), tensors: new Set(), through: new Set() });
    }
    const link = this.links.get(id);
    if (made !== null) link.shapes.add(made);
    link.tensors.add(key);
    link.through.add(through.join(", "));
  }
}

/** The graphs of all open boxes, by their index, and the boxes whose output they get again. */
export class Flow {
  constructor(tree, expanded, tensors) {
    this.tree = tree;
    this.expanded = expanded;
    this.shown = tree.shown(expanded);
    this.graphs = new Map();
    this.again = new Set();
    this.batch = batchShapes(tree.record.edges);
    for (const box of tree.list) {
      if (this.shown[box.index] === box && expanded.has(box)) this.graphs.set(box.index, new FlatGraph());
    }
    if (tensors) tensors.forEach((tensor) => this.add(tensor));
    else this.addOrder();
  }

  /** Link the children of each open box in the order of their calls. */
  addOrder() {
    for (const [index, graph] of this.graphs) {
      const called = this.tree.list[index].children.filter(
        (box) => box.group || this.tree.record.layers.call[box.row] >= 0,
      );
      const ids = ["in", ...called.map((box) => box.index), "out"];
      ids.slice(1).forEach((id, before) => graph.link(ids[before], id));
    }
  }

  add({ target, end, edges, aside }) {
    const { tree, shown } = this;
    const box = tree.ofRow[target];
    const drawn = shown[box.index];
    const data = tree.record.edges;
    if (end) {
      if (drawn !== box || !this.expanded.has(box)) return;
    } else {
      if (!drawn.parent) return;
      if (edges.every((edge) => this.within(data.source[edge], drawn))) {
        for (const edge of edges) {
          if (this.repeats(data.source[edge], target, drawn)) this.again.add(drawn);
        }
        return;
      }
    }
    const items = edges.map((edge) => {
      const through = data.through.get(edge);
      const source = data.source[edge];
      const made = source === BATCH ? this.batch.get(data.output.at[edge]) : data.made.get(edge);
      return {
        source,
        made: made ?? null,
        box: source === BATCH ? null : tree.ofRow[source],
        arrived: data.shape.get(edge),
        chain: through ? through.split(", ") : [],
        key: `${source === BATCH ? BATCH : tree.ofRow[source].index}${data.output.get(edge)}`,
      };
    });
    if (aside) this.linkAside(box, items, target);
    else if (end) this.place(box, "out", items, target);
    else this.place(drawn.parent, drawn, items, target);
  }

  /** Link the boxes that made one of many outputs to the port "out", without operators. */
  linkAside(box, items, target) {
    const graph = this.graphs.get(box.index);
    for (const item of items) {
      const at = this.lift(item, box, target);
      if (at === "in") continue;
      this.leave(at, item.box, item.made, item.key);
      graph.link(at.index, "out", { made: item.chain.length ? item.arrived : item.made, key: item.key });
      graph.links.get(`${at.index}>out`).aside = true;
    }
  }

  within(source, box) {
    return source !== BATCH && box.contains(this.tree.ofRow[source]);
  }

  /** Return whether a tensor goes from one call of a box to another call of it. */
  repeats(source, target, box) {
    const { tree } = this;
    return box.owner.rows.length > 1 && tree.callOf(source, box) !== tree.callOf(target, box);
  }

  /** Link what made a tensor to `goal`, a child of the box or its port "out". */
  place(container, goal, items, target) {
    let rest = items;
    if (goal !== "out") {
      rest = items.filter((item) => !this.within(item.source, goal));
      for (const item of items) {
        if (this.within(item.source, goal) && this.repeats(item.source, target, goal)) this.again.add(goal);
      }
      // The operator that joins inner and outer tensors is inside.
      if (rest.length < items.length) rest = rest.map((item) => ({ ...item, chain: [], arrived: item.made }));
    }
    const inner = rest.map((item) => ({ ...item, at: this.lift(item, container, target) }));
    const known = container.parent ? inner : inner.filter((item) => item.source === BATCH || item.at !== "in");
    if (!known.length) return;
    const graph = this.graphs.get(container.index);
    const outward = [];
    const to = goal === "out" ? "out" : goal.index;
    for (const feeder of this.feeders(known, container, outward, true)) {
      const from = this.intern(graph, feeder, container);
      const { arrived } = known[0];
      const direct = feeder.item && !feeder.through.length;
      const made = direct ? feeder.item.arrived : arrived;
      graph.link(from, to, { made, key: feeder.key, through: loudOperators(feeder.through) });
    }
    if (outward.length && container.parent) this.place(container.parent, container, outward, target);
  }

  /** Return the child of a container that made a tensor, "in" if it is from outside. */
  lift(item, container, target) {
    const { box, source } = item;
    if (!box || box === container || !container.contains(box)) return "in";
    if (this.repeats(source, target, container)) return "in";
    let at = this.shown[box.index];
    while (at.parent !== container) at = at.parent;
    return at;
  }

  /**
   * Return where the tensors of `items` come from: a tree of operators, with items as its leaves.
   * What comes from outside altogether is one leaf, and is added to `outward`.
   */
  feeders(items, container, outward, last = false) {
    if (container.parent && items.every((item) => item.at === "in")) {
      outward.push(...items);
      return [{ item: items[0], key: "in", through: [] }];
    }
    const found = new Map();
    const byLast = new Map();
    for (const item of items) {
      const name = item.chain.at(-1) ?? "";
      if (!byLast.has(name)) byLast.set(name, []);
      byLast.get(name).push(item);
    }
    for (const [name, members] of byLast) {
      if (!name) {
        for (const item of members) {
          if (item.at === "in" && container.parent) outward.push(item);
          found.set(item.key, { item, key: item.key, through: [] });
        }
        continue;
      }
      const rest = members.map((item) => ({ ...item, chain: item.chain.slice(0, -1), arrived: item.made }));
      const feeders = this.feeders(rest, container, outward);
      // Each of several tensors may have gone through an operator that takes one, as a ReLU.
      if (feeders.length > 1 && !joinStrength(name) && !last) {
        feeders.forEach((one, at) => found.set(`(${name})${at}`, { ...one, through: [...one.through, name] }));
      } else found.set(`(${name})`, joinFeeders(name, feeders));
    }
    return [...found.values()];
  }

  /** Return the id of a leaf or an operator in a graph; equal operators are one. */
  intern(graph, feeder, container) {
    const before = feeder.item && this.known(graph, feeder);
    if (before) return before;
    if (feeder.item) {
      const { at, box, made } = feeder.item;
      if (at === "in") return "in";
      this.leave(at, box, made, feeder.key);
      return at.index;
    }
    const inputs = feeder.feeders.map((one) => [this.intern(graph, one, container), one]);
    const id = `${feeder.name}(${inputs.map(([from]) => from).sort().join("|")})`;
    if (!graph.operators.has(id)) graph.operators.set(id, feeder.name);
    for (const [from, one] of inputs) {
      const made = one.item && !one.through.length ? one.item.arrived : null;
      graph.link(from, id, { made, key: one.key, through: loudOperators(one.through) });
    }
    return id;
  }

  /** Return the operator that a chain from a leaf passes, if it was drawn for another tensor. */
  known(graph, feeder) {
    const { at } = feeder.item;
    const from = at === "in" ? "in" : at.index;
    const place = feeder.through.findLastIndex((name) => joinStrength(name) > 0);
    const name = feeder.through[place];
    const id = [...graph.operators.keys()].find((key) =>
      graph.operators.get(key) === name && graph.links.has(`${from}>${key}`));
    if (id) feeder.through = feeder.through.slice(place + 1);
    return id;
  }

  /** Link the boxes in the open box `outer` that a tensor of `box` leaves to its port "out". */
  leave(outer, box, made, key) {
    let container = outer;
    while (this.expanded.has(container) && container !== box) {
      let at = this.shown[box.index];
      while (at.parent !== container) at = at.parent;
      this.graphs.get(container.index).link(at.index, "out", { made, key });
      container = at;
    }
  }
}

function joinStrength(name) {
  return STRONG_JOINS.has(name) ? 2 : WEAK_JOINS.has(name) ? 1 : 0;
}

/** Return the operator `name` that gets `feeders`; with one of them it joins nothing. */
function joinFeeders(name, feeders) {
  const [only] = feeders;
  if (feeders.length > 1) return { name, feeders, key: name, through: [] };
  if (only.feeders && joinStrength(name) > joinStrength(only.name)) {
    const before = [only.name, ...only.through];
    const inputs = only.feeders.map((one) => ({ ...one, through: [...one.through, ...before] }));
    return { name, feeders: inputs, key: name, through: [] };
  }
  return { ...only, through: [...only.through, name] };
}
