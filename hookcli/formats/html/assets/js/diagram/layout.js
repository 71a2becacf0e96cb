/** Where boxes and edges are drawn: dagre places the flat graph of each open box, inner ones first. */

/**
 * Give each node of a graph its place (x, y: the centre) and each edge its points; `place` does so
 * for a flat graph. An open box gets the size of what is in it. The worker has a copy of this
 * function: it uses nothing from outside.
 */
export function layOut(graph, place, known = new Map()) {
  const SIDE = 14;
  const HEAD = 30;
  const FOOT = 10;
  for (const node of graph.nodes) {
    if (!node.inner) continue;
    layOut(node.inner, place, known);
    const { width, height } = node.inner;
    node.width = Math.max(node.width, width + 2 * SIDE);
    node.height = height + HEAD + FOOT;
    node.inner.left = (node.width - width) / 2;
    node.inner.top = HEAD;
  }
  const key = JSON.stringify([
    graph.nodes.map((node) => [node.width, node.height]),
    graph.edges.map((edge) => [edge.from, edge.to, edge.width, edge.weight]),
  ]);
  if (!known.has(key)) known.set(key, placed(graph));
  const { width, height, nodes, edges } = known.get(key);
  Object.assign(graph, { width, height });
  nodes.forEach((at, index) => Object.assign(graph.nodes[index], at));
  edges.forEach((at, index) => Object.assign(graph.edges[index], at));
  return graph;

  /** Place a flat graph, and centre it at its port "in" if that is near the middle. */
  function placed({ nodes: flat, edges: links }) {
    const found = place(flat, links);
    const lefts = found.nodes.map(({ x }, i) => x - flat[i].width / 2);
    const rights = found.nodes.map(({ x }, i) => x + flat[i].width / 2);
    for (const { points, label } of found.edges) {
      for (const { x } of points) lefts.push(x - 4), rights.push(x + 4);
      if (label) lefts.push(label.x - label.width / 2), rights.push(label.x + label.width / 2);
    }
    const [left, right] = [Math.min(...lefts), Math.max(...rights)];
    const trunk = flat.findIndex((node) => node.id === "in");
    const axis = trunk < 0 ? (left + right) / 2 : found.nodes[trunk].x;
    const half = Math.max(axis - left, right - axis);
    const narrow = 2 * half <= (right - left) * 1.6 + 60;
    const width = narrow ? 2 * half : right - left;
    const shift = narrow ? half - axis : -left;
    for (const node of found.nodes) node.x += shift;
    const bands = ranks(found.nodes, flat);
    for (const edge of found.edges) {
      for (const point of edge.points) point.x += shift;
      if (edge.label) edge.label.x += shift;
      edge.points = straight(edge.points, bands);
    }
    return { ...found, width };
  }

  /** Return the height of each row of nodes, by its middle. */
  function ranks(at, flat) {
    const heights = new Map();
    at.forEach(({ y }, index) => {
      const middle = Math.round(y);
      heights.set(middle, Math.max(heights.get(middle) ?? 0, flat[index].height));
    });
    return heights;
  }

  /** Make an edge pass a row of nodes vertically, so that it crosses none of them. */
  function straight(points, heights) {
    return points.flatMap((point, index) => {
      const half = (heights.get(Math.round(point.y)) ?? 0) / 2;
      if (!half || index === 0 || index === points.length - 1) return [point];
      return [{ x: point.x, y: point.y - half }, { x: point.x, y: point.y + half }];
    });
  }
}

/** Place a flat graph with dagre, a global name in the worker. */
function placeByDagre(nodes, edges) {
  const { Graph } = dagre.graphlib;
  const graph = new Graph();
  graph.setGraph({ ranksep: 26, nodesep: 26, edgesep: 16, marginx: 4, marginy: 4 });
  nodes.forEach(({ width, height }, index) => graph.setNode(String(index), { width, height }));
  edges.forEach(({ from, to, width, weight }) => {
    graph.setEdge(String(from), String(to), { width, height: width ? 14 : 0, labelpos: "c", weight });
  });
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width,
    height,
    nodes: nodes.map((_, index) => {
      const { x, y } = graph.node(String(index));
      return { x, y };
    }),
    edges: edges.map((edge) => {
      const { points, x, y } = graph.edge(String(edge.from), String(edge.to));
      return { points, label: edge.width ? { x, y, width: edge.width } : null };
    }),
  };
}

/** Place a flat graph in one column: for browsers that run no worker, and for paper. */
export function placeInColumn(nodes, edges) {
  const width = Math.max(1, ...nodes.map((node) => node.width));
  let y = 4;
  const at = nodes.map((node) => {
    const middle = y + node.height / 2;
    y += node.height + 40;
    return { x: width / 2, y: middle };
  });
  let lanes = 0;
  const lines = edges.map(({ from, to, width: wide }) => {
    const start = { x: width / 2, y: at[from].y + nodes[from].height / 2 };
    const end = { x: width / 2, y: at[to].y - nodes[to].height / 2 };
    if (to === from + 1) {
      const label = wide ? { x: width / 2, y: (start.y + end.y) / 2, width: wide } : null;
      return { points: [start, end], label };
    }
    lanes += 1;
    const x = width + 12 * lanes;
    return { points: [start, { x, y: start.y + 16 }, { x, y: end.y - 16 }, end], label: null };
  });
  return { width: width + 12 * lanes, height: y - 36, nodes: at, edges: lines };
}

function serveLayouts(layout, place) {
  const known = new Map();
  onmessage = ({ data: { number, graph } }) => {
    postMessage({ number, graph: layout(graph, place, known) });
  };
}

/** Lays graphs out in a worker; only the answer to the latest request is told. */
export class Layouter {
  constructor() {
    this.number = 0;
    this.worker = null;
  }

  /** Lay a graph out, then call `done(graph, simple)`; `simple` is true if no worker could. */
  async request(graph, done) {
    this.number += 1;
    const number = this.number;
    this.pending = { number, graph, done };
    this.worker ??= startWorker(this);
    const worker = await this.worker;
    if (number !== this.number) return;
    if (worker) worker.postMessage({ number, graph });
    else this.answer({ number, graph: layOut(graph, placeInColumn) }, true);
  }

  /** Lay a graph out at once, in one column. */
  now(graph, done) {
    this.number += 1;
    this.pending = null;
    done(layOut(graph, placeInColumn), false);
  }

  answer({ number, graph }, simple = false) {
    if (number !== this.pending?.number) return;
    const { done } = this.pending;
    this.pending = null;
    done(graph, simple);
  }

  /** Lay out what is pending without the worker, from now on. */
  fail() {
    this.worker = Promise.resolve(null);
    const { pending } = this;
    if (pending) this.answer({ ...pending, graph: layOut(pending.graph, placeInColumn) }, true);
  }
}

/** Return a worker with dagre, null if the browser runs none. */
async function startWorker(layouter) {
  try {
    const parts = [await unpackLibrary("dagre"), `(${serveLayouts})(${layOut}, ${placeByDagre})`];
    const address = URL.createObjectURL(new Blob([parts.join(";\n")], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => layouter.answer(data);
    worker.onerror = () => layouter.fail();
    return worker;
  } catch {
    return null;
  }
}

async function unpackLibrary(name) {
  const packed = atob(document.getElementById(`library-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
