/** Draw the boxes and edges of a layout as svg. */

import { svg } from "../frame/dom.js";
import { widthOf } from "../frame/measure.js";
import { cut, integer, short } from "../frame/text.js";

const SYMBOLS = { add: "+", sub: "−", mul: "×", div: "÷" };
const BOX_HEIGHT = 42;
const NARROW = 104;
const LONGEST = 64; // characters of a name, a type or a label; the tip has all of it
const STUB_LENGTH = 44;
const ALIGNED = 240; // px: boxes up to it are as wide as each other
const LETTER = 6.1; // px, about, of a stub
const MOST_LABELLED = 150; // edges of one box
const MOST_LINES = 4; // from one node, or to the output: more are named at their ends
const MOST_SOURCES = 64; // of one tensor: a report has no more
const IN_ONE_ROW = 4; // boxes without edges
const OPEN_HEAD = 24; // of an open box

const KINDS = [
  ["conv", /conv/i],
  ["norm", /norm/i],
  ["attention", /attention|attn/i],
  ["linear", /linear|dense|lora/i],
  ["embedding", /embed/i],
  ["recurrent", /rnn|lstm|gru/i],
  ["pool", /pool|flatten|upsample|pad|unfold|shuffle/i],
  ["activation", /relu|gelu|silu|elu|tanh|sigmoid|softmax|activation|mish|swish|softplus/i],
  ["dropout", /drop|identity/i],
];

/** Return the kind of a type of modules, which has a colour; "other" if it is none of them. */
export function kindOf(type) {
  return KINDS.find(([, pattern]) => pattern.test(type))?.[0] ?? "other";
}

/** Return the graph that is laid out: nodes with sizes, and edges between their indexes. */
export function sizedGraph(flow, box = flow.tree.root) {
  const { tree } = flow;
  const { links, operators } = flow.graphs.get(box.index);
  const outer = box === tree.root;
  const ends = new Set([...links.values()].flatMap(({ from, to }) => [from, to]));
  const port = (id) => (outer ? { id, width: 90, height: 28 } : { id, width: 8, height: 1 });
  const nodes = box.children.map((child) => boxNode(flow, child));
  const places = new Map(box.children.map((child, order) => [child.index, order]));
  places.set("in", -1).set("out", nodes.length);
  const inputs = new Map([...operators.keys()].map((id) => [id, []]));
  for (const { from, to } of links.values()) inputs.get(to)?.push(from);
  for (const [id, name] of operators) {
    const width = SYMBOLS[name] ? 22 : 16 + widthOf(cut(name, LONGEST), "type");
    nodes.push({ id, width, height: 22 });
    // Operators follow those that they use in the map, so that a place is known when needed.
    places.set(id, Math.max(...inputs.get(id).map((from) => places.get(from) ?? 0)) + 0.01);
  }
  for (const id of ["in", "out"]) if (ends.has(id)) nodes.push(port(id));
  for (const { id } of nodes) if (!ends.has(id)) places.set(id, places.get(id) + box.children.length + 1);
  nodes.sort((a, b) => places.get(a.id) - places.get(b.id));
  const leaves = nodes.filter((node) => node.leaf && node.width <= ALIGNED);
  const widest = Math.max(...leaves.map((node) => node.width));
  for (const node of leaves) node.width = widest;
  const order = new Map(nodes.map((node, index) => [node.id, index]));
  const drawn = [...links].filter(([, link]) => link.from !== link.to);
  const sources = counts(drawn.map(([, link]) => link.from));
  const targets = counts(drawn.map(([, link]) => link.to));
  const labelled = links.size <= MOST_LABELLED;
  const edges = [];
  for (const [id, link] of drawn) {
    const { from, to } = link;
    const [start, end] = [order.get(from), order.get(to)];
    const next = end - start === 1;
    const many = sources.get(from) > MOST_LINES && targets.get(to) > 1;
    const manyOut = to === "out" && targets.get(to) > MOST_LINES && sources.get(from) > 1;
    link.stub = !next && (many || manyOut || (link.aside && sources.get(from) > 1));
    if (link.stub) continue;
    // What goes back and forth between two boxes has one line.
    if (start > end && links.has(`${to}>${from}`)) {
      for (const index of [from, to]) if (typeof index === "number") flow.again.add(tree.list[index]);
      link.hidden = true;
      continue;
    }
    const text = labelled ? linkLabel(link, outer) : "";
    edges.push({
      link: id,
      text,
      back: start > end,
      from: Math.min(start, end),
      to: Math.max(start, end),
      width: text ? widthOf(text, "label") + 8 : 0,
      weight: next ? 8 : sources.get(from) > 1 ? 3 : 1,
    });
  }
  const linked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const alone = nodes.map((_, index) => index).filter((index) => !linked.has(index));
  alone.forEach((index, count) => {
    const from = count < IN_ONE_ROW ? 0 : alone[count - IN_ONE_ROW];
    if (from !== index) edges.push({ from, to: index, width: 0, weight: 0, hidden: true });
  });
  return { box: box.index, nodes, edges };
}

function counts(ids) {
  const found = new Map();
  for (const id of ids) found.set(id, (found.get(id) ?? 0) + 1);
  return found;
}

function boxNode(flow, box) {
  const { tree } = flow;
  const inner = flow.expanded.has(box);
  const name = cut(tree.name(box), LONGEST) + timesText(box);
  const first = widthOf(name, "name") + (box.children.length ? 24 : 0);
  const second = widthOf(cut(subtitle(tree, box), LONGEST), "type");
  const long = inner ? first + second + 20 : Math.max(first, second);
  return {
    id: box.index,
    width: Math.max(NARROW, Math.ceil(long) + 26),
    height: BOX_HEIGHT,
    leaf: !inner,
    inner: inner ? sizedGraph(flow, box) : null,
  };
}

/** Return which call of a module a box is, or how many it stands for. */
function timesText(box) {
  if (box.time >= 0) return ` call ${box.time + 1}`;
  return box.rows.length > 1 ? ` ×${integer(box.rows.length)}` : "";
}

function subtitle(tree, box) {
  if (box.group) return tree.fullName(box);
  if (box.row < 0) return "";
  const { layers } = tree.record;
  const parameters = layers.parameters[box.row];
  return `${layers.type.get(box.row)}${parameters ? ` · ${short(parameters)}` : ""}`;
}

/** Return the text on an edge; inside a box, those of its ports have none but operators. */
function linkLabel(link, outer) {
  const through = link.through.size === 1 ? [...link.through][0] : "";
  const port = !outer && (link.from === "in" || link.to === "out");
  const shapes = port ? "" : shapesText(link);
  return cut([through, shapes].filter(Boolean).join(" "), LONGEST);
}

function shapesText({ shapes, tensors }) {
  if (!shapes.size) return "";
  if (shapes.size > 1) return `${shapes.size} shapes`;
  const [shape] = shapes;
  const count = tensors.size < MOST_SOURCES ? tensors.size : `≥${MOST_SOURCES}`;
  return tensors.size > 1 ? `${count} × ${shape}` : shape;
}

/** A drawing of a layout. `items` has the boxes by index with their rectangles and elements. */
export class Drawing {
  constructor(flow, graph, titles) {
    this.flow = flow;
    this.tree = flow.tree;
    this.titles = titles;
    this.items = new Map();
    this.ports = new Map();
    this.places = new Map(); // of operators
    this.next = new Map();
    this.before = new Map();
    this.boxes = svg("g", { class: "boxes" });
    this.lines = svg("g", { class: "lines", "aria-hidden": "true" });
    this.labels = svg("g", { "aria-hidden": "true" });
    this.width = graph.width;
    this.height = graph.height;
    this.place(graph, 0, 0);
    this.connect(graph, 0, 0);
  }

  /** Draw the nodes of a graph, whose corner is at (left, top). */
  place(graph, left, top) {
    const outer = graph.box === this.tree.root.index;
    for (const node of graph.nodes) {
      const { width, height } = node;
      const at = { left: left + node.x - width / 2, top: top + node.y - height / 2, width, height };
      if (typeof node.id === "number") this.addBox(node, at);
      else if (node.id === "in" || node.id === "out") this.addPort(node, at, outer, graph.box);
      else {
        this.places.set(`${node.id}/${outer ? "" : graph.box}`, at);
        this.addOperator(this.flow.graphs.get(graph.box).operators.get(node.id), at);
      }
    }
  }

  addBox(node, at) {
    const box = this.tree.list[node.id];
    const element = svg("g", {
      class: `box${node.inner ? " open" : ""}${box.group ? " group" : ""}`,
      role: "treeitem", tabindex: "-1", "aria-label": this.titles.name(box, Boolean(node.inner)),
      "aria-level": Math.max(1, box.level), "aria-expanded": box.children.length ? String(Boolean(node.inner)) : null,
      transform: `translate(${at.left} ${at.top})`, data: { box: node.id },
    });
    const { width, height } = at;
    if (box.children.length && !node.inner) {
      element.append(svg("rect", { class: "behind", x: 3, y: 4, width, height, rx: 6 }));
    }
    element.append(svg("rect", { class: "frame", width, height, rx: 6 }));
    element.append(svg("rect", { class: "tint", width, height, rx: 6 }));
    this.items.set(node.id, { box, element, ...at, inner: node.inner, written: false });
    this.boxes.append(element);
    if (node.inner) this.place(node.inner, at.left + node.inner.left, at.top + node.inner.top);
  }

  /** Write the texts of a box; those far outside of the view have none in large diagrams. */
  write(item) {
    if (item.written) return;
    item.written = true;
    const { box, element, width } = item;
    const { tree } = this;
    const open = Boolean(item.inner);
    const name = svg("text", { class: "box-name", x: 10, y: open ? 19 : 17 }, cut(tree.name(box), LONGEST));
    const times = timesText(box) + (this.flow.again.has(box) ? " ↻" : "");
    if (times) name.append(svg("tspan", { class: "times" }, times));
    if (open) name.append(svg("tspan", { class: "box-type", dx: 8 }, cut(subtitle(tree, box), LONGEST)));
    const mark = this.titles.mark(box, open);
    element.append(svg("title", {}, this.titles.tip(box, this.flow.again.has(box))), name);
    if (!open) {
      const type = cut(subtitle(tree, box), LONGEST);
      element.append(svg("text", { class: "box-type", x: 10, y: 33 }, type));
    }
    if (mark) element.append(svg("text", { class: `mark mark-${mark.kind}`, x: width - 2, y: -4 }, mark.text));
    if (box.children.length) {
      const x = width - 22;
      element.append(svg(
        "g", { class: "toggle", transform: `translate(${x} 5)`, data: { toggle: box.index } },
        svg("rect", { width: 16, height: 16, rx: 4 }),
        svg("path", { d: open ? "M4 8H12" : "M4 8H12M8 4V12" }),
      ));
    }
  }

  addPort(node, at, outer, box) {
    const x = at.left + at.width / 2;
    if (!outer) {
      this.ports.set(`${node.id}${box}`, x);
      return;
    }
    this.boxes.append(svg(
      "g", { class: "terminal", transform: `translate(${at.left} ${at.top})` },
      svg("rect", { width: at.width, height: at.height, rx: at.height / 2 }),
      svg("text", { x: at.width / 2, y: at.height / 2 + 4 }, node.id === "in" ? "input" : "output"),
    ));
  }

  addOperator(name, at) {
    const text = SYMBOLS[name] ?? cut(name, LONGEST);
    this.boxes.append(svg(
      "g", { class: `operator${SYMBOLS[name] ? " symbol" : ""}`, transform: `translate(${at.left} ${at.top})` },
      svg("title", {}, name),
      svg("rect", { width: at.width, height: at.height, rx: 11 }),
      svg("text", { x: at.width / 2, y: at.height / 2 + 4 }, text),
    ));
  }

  /** Draw the edges of a graph and of those within it. */
  connect(graph, left, top) {
    const { links } = this.flow.graphs.get(graph.box);
    const frame = this.items.get(graph.box);
    const stubs = [...links.values()].filter((link) => link.stub);
    for (const link of stubs) this.note(link);
    this.addStubs(stubs, frame);
    for (const edge of graph.edges) {
      if (edge.hidden) continue;
      const link = links.get(edge.link);
      const points = edge.points.map(({ x, y }) => ({ x: x + left, y: y + top }));
      this.bend(points, graph.nodes, edge, frame);
      if (edge.back) points.reverse();
      this.note(link);
      const dotted = this.tree.record.edges === null;
      this.lines.append(svg("path", {
        class: `line${dotted ? " dotted" : ""}${edge.back ? " back" : ""}`, d: curve(points),
        "marker-end": typeof link.to === "number" || link.to === "out" && !frame ? "url(#diagram-arrow)" : null,
        data: { from: link.from, to: link.to },
      }));
      if (edge.label) {
        const text = svg("text", { class: "line-label", x: edge.label.x + left, y: edge.label.y + top + 3.5 }, edge.text);
        text.append(svg("title", {}, linkTitle(link)));
        const { width } = edge.label;
        this.labels.append(
          svg("rect", { class: "line-gap", x: edge.label.x + left - width / 2 + 2, y: edge.label.y + top - 7, width: width - 4, height: 14 }),
          text,
        );
      }
    }
    for (const node of graph.nodes) {
      if (!node.inner) continue;
      const item = this.items.get(node.id);
      this.connect(node.inner, item.left + node.inner.left, item.top + node.inner.top);
    }
  }

  /** Name the ends of edges that are not drawn, beside the boxes that they lead to. */
  addStubs(links, frame) {
    const known = new Map();
    for (const { from, to } of links) {
      const [at, end] = to === "out" ? [from, "out"] : [to, from];
      if (!known.has(at)) known.set(at, { sources: [], out: false });
      if (end === "out") known.get(at).out = true;
      else known.get(at).sources.push(this.nameOf(end));
    }
    for (const [at, { sources, out }] of known) {
      const operator = this.places.get(`${at}/${frame?.box.index ?? ""}`);
      const item = operator ?? this.items.get(at);
      if (!item) continue;
      const marked = operator ? null : this.titles.mark(item.box, Boolean(item.inner));
      const right = item.left + item.width - 2 - (marked ? widthOf(marked.text, "type") + 10 : 0);
      const [x, anchor] = operator ? [item.left + item.width + 4, "start"] : [right, "end"];
      const add = (text, y, title) => this.labels.append(svg(
        "text", { class: "stub", x, y: operator ? item.top + 15 : y, "text-anchor": anchor },
        cut(text, operator ? STUB_LENGTH : Math.max(12, Math.floor(item.width / 2 / LETTER))), svg("title", {}, title),
      ));
      if (sources.length) {
        const text = sources.length > 1 ? `${sources.length} more` : sources[0];
        add(`↴ ${text}`, item.top - 4, `also gets ${sources.join(", ")}`);
      }
      if (out) add("↳ output", item.top + item.height + 11, "is also part of the output");
    }
  }

  nameOf(id) {
    return typeof id === "number" ? this.tree.name(this.tree.list[id]) : id === "in" ? "input" : id.split("(")[0];
  }

  /** Move the ends of an edge to the ports of open boxes and to the frame around it. */
  bend(points, nodes, edge, frame) {
    const [first, last] = [points[0], points.at(-1)];
    const [from, to] = [nodes[edge.from], nodes[edge.to]];
    first.x = this.end(from, "out", first.x);
    last.x = this.end(to, "in", last.x);
    const start = this.items.get(from.id);
    const end = this.items.get(to.id);
    if (start) first.y = start.top + start.height;
    if (end) last.y = end.top;
    if (frame && from.id === "in") first.y = frame.top + OPEN_HEAD;
    if (frame && to.id === "out") last.y = frame.top + frame.height;
  }

  end(node, port, x) {
    return node.inner ? this.ports.get(`${port}${node.id}`) ?? x : x;
  }

  note({ from, to }) {
    const add = (map, key, value) => map.set(key, [...(map.get(key) ?? []), value]);
    add(this.next, from, to);
    add(this.before, to, from);
  }
}

function linkTitle({ shapes, tensors, through }) {
  const operators = [...through].filter(Boolean).map((names) => `through ${names}`);
  const count = tensors.size > 1 ? [`${tensors.size} tensors`] : [];
  return [...count, ...shapes, ...operators].join("\n");
}

/** Return a path through points that is vertical at each of them. */
function curve([start, ...rest]) {
  let path = `M${start.x.toFixed(1)} ${start.y.toFixed(1)}`;
  let before = start;
  for (const { x, y } of rest) {
    const to = `${x.toFixed(1)} ${y.toFixed(1)}`;
    const middle = ((before.y + y) / 2).toFixed(1);
    path += Math.abs(x - before.x) < 0.5
      ? `L${to}`
      : `C${before.x.toFixed(1)} ${middle} ${x.toFixed(1)} ${middle} ${to}`;
    before = { x, y };
  }
  return path;
}
