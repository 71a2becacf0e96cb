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
    // The rows of the ports are below the head and above the foot.
    const fan = node.inner.edges.filter(({ from }) => from === 0).length;
    node.inner.top = node.inner.nodes[0].id === "in" ? (fan > 1 ? 20 : 6) : HEAD;
    node.inner.left = (node.width - width) / 2;
    node.height = height + node.inner.top + (node.inner.nodes.some(({ id }) => id === "out") ? -10 : FOOT);
  }
  const key = JSON.stringify([
    graph.nodes.map((node) => [node.width, node.height]),
    graph.edges.map((edge) => [edge.from, edge.to, edge.width, edge.weight, edge.hidden]),
  ]);
  if (!known.has(key)) known.set(key, placed(graph));
  const { width, height, nodes, edges } = known.get(key);
  Object.assign(graph, { width, height });
  nodes.forEach((at, index) => Object.assign(graph.nodes[index], at));
  edges.forEach((at, index) => Object.assign(graph.edges[index], at));
  return graph;

  /** Place a flat graph, with its trunk straight and, if there is room, in the middle. */
  function placed({ nodes: flat, edges: links }) {
    const found = place(flat, links);
    const tops = found.nodes.map(({ y }, index) => y - flat[index].height / 2);
    const mirrored = turned(found.nodes) ? -1 : 1;
    const shifts = trunk(found, links, mirrored, tops);
    found.nodes.forEach((node, index) => {
      node.x = mirrored * node.x + shifts(tops[index]);
    });
    const bands = ranks(tops, flat);
    const lanes = found.edges.map(({ points }) =>
      points.slice(1, -1).map(({ x, y }) => ({ x: mirrored * x + shifts(y), y })));
    straighten(lanes);
    found.edges.forEach((edge, index) => {
      const inner = lanes[index];
      const [start, end] = [links[index].from, links[index].to].map((at) => found.nodes[at]);
      const [high, low] = [flat[links[index].from].height / 2, flat[links[index].to].height / 2];
      const first = { x: start.x + spread(start, inner[0] ?? end), y: start.y + high };
      const last = { x: end.x + spread(end, inner.at(-1) ?? start), y: end.y - low };
      edge.points = straight([first, ...inner, last], bands);
      if (edge.label) {
        const { y } = edge.label;
        edge.label.x = inner.find((point) => Math.abs(point.y - y) < 8)?.x ?? start.x;
      }
    });
    const lefts = found.nodes.map(({ x }, i) => x - flat[i].width / 2);
    const rights = found.nodes.map(({ x }, i) => x + flat[i].width / 2);
    for (const { points, label } of found.edges) {
      for (const { x } of points) lefts.push(x - 4), rights.push(x + 4);
      if (label) lefts.push(label.x - label.width / 2), rights.push(label.x + label.width / 2);
    }
    const [left, right] = [Math.min(...lefts), Math.max(...rights)];
    const axis = found.nodes[0]?.x ?? 0;
    const half = Math.max(axis - left, right - axis);
    const narrow = 2 * half <= (right - left) * 1.6 + 60;
    const width = narrow ? 2 * half : right - left;
    const shift = narrow ? half - axis : -left;
    for (const node of found.nodes) node.x += shift;
    for (const edge of found.edges) {
      for (const point of edge.points) point.x += shift;
      if (edge.label) edge.label.x += shift;
    }
    return { ...found, width };

    /** Make the edges beside the nodes straight, where nothing is in the way. */
    function straighten(all) {
      const rows = new Map(); // what is in each row: [left, right, edge]
      const row = (y) => [...rows.keys()].find((known) => Math.abs(known - y) < 8) ?? y;
      const note = (y, ...entry) => {
        const key = row(y);
        if (!rows.has(key)) rows.set(key, []);
        rows.get(key).push(entry);
      };
      found.nodes.forEach(({ x }, index) => {
        note(tops[index], x - flat[index].width / 2 - 8, x + flat[index].width / 2 + 8, -1);
      });
      all.forEach((points, edge) => points.forEach(({ x, y }) => note(y, x - 10, x + 10, edge)));
      all.forEach((points, edge) => {
        const xs = points.map(({ x }) => x);
        const wanted = [Math.min(...xs), Math.max(...xs)].find((x) => points.every((point) =>
          rows.get(row(point.y)).every(([left, right, other]) =>
            other === edge || right < Math.min(x, point.x) || left > Math.max(x, point.x))));
        if (wanted === undefined) return;
        for (const point of points) {
          const entry = rows.get(row(point.y)).find(([, , other]) => other === edge);
          [entry[0], entry[1]] = [wanted - 10, wanted + 10];
          point.x = wanted;
        }
      });
    }

    /** Where an edge meets a node: towards where it leads, but near the middle. */
    function spread(node, next) {
      const dx = next.x - node.x;
      const { width: wide } = flat[found.nodes.indexOf(node)];
      return Math.abs(dx) < 2 ? 0 : Math.sign(dx) * Math.min(Math.abs(dx), wide / 4, 24);
    }

    /** Whether the boxes of most rows follow each other from right to left. */
    function turned(nodes) {
      let turns = 0;
      for (let i = 0; i < nodes.length; i += 1) {
        for (let j = i + 1; j < nodes.length; j += 1) {
          if (Math.abs(tops[i] - tops[j]) < 1) turns += Math.sign(nodes[j].x - nodes[i].x);
        }
      }
      return turns < 0;
    }
  }

  /**
   * Return by how much each row is moved so that the trunk is straight: the nodes that no edge
   * passes, and the chains between them.
   */
  function trunk({ nodes, edges }, links, sign, tops) {
    const chained = nodes.map(() => -1); // the edge to the next node
    const passed = nodes.map(() => 0);
    links.forEach(({ from, to, hidden }, edge) => {
      if (hidden) return;
      if (to === from + 1) chained[from] = edge;
      for (let at = from + 1; at < to; at += 1) passed[at] += 1;
    });
    const cuts = [...nodes.keys()].filter((at) => !passed[at] && (at === 0 || chained[at - 1] >= 0 || chained[at] >= 0));
    const stops = cuts.map((at) => ({ y: tops[at], shift: -sign * nodes[at].x }));
    for (let index = 1; index < cuts.length; index += 1) {
      const between = [...Array(cuts[index] - cuts[index - 1]).keys()].map((at) => at + cuts[index - 1]);
      if (between.some((at) => chained[at] < 0)) continue;
      for (const at of between) {
        stops.push({ y: tops[at], shift: -sign * nodes[at].x });
        for (const { x, y } of edges[chained[at]].points.slice(1, -1)) stops.push({ y, shift: -sign * x });
      }
    }
    stops.sort((a, b) => a.y - b.y);
    return (y) => {
      const exact = stops.find((stop) => Math.abs(stop.y - y) < 8);
      if (exact) return exact.shift;
      const above = stops.findLast((stop) => stop.y < y);
      const below = stops.find((stop) => stop.y > y);
      if (!above || !below) return (above ?? below)?.shift ?? 0;
      return (above.shift + below.shift) / 2;
    };
  }

  /** Return the height of each row of nodes, by its top. */
  function ranks(tops, flat) {
    const heights = new Map();
    tops.forEach((y, index) => {
      const top = Math.round(y);
      heights.set(top, Math.max(heights.get(top) ?? 0, flat[index].height));
    });
    return heights;
  }

  /** Make an edge pass a row of nodes vertically, so that it crosses none of them. */
  function straight(points, heights) {
    return points.flatMap((point, index) => {
      const top = [...heights.keys()].find((y) => Math.abs(y - point.y) < 8);
      if (top === undefined || index === 0 || index === points.length - 1) return [point];
      return [{ x: point.x, y: top }, { x: point.x, y: top + heights.get(top) }];
    });
  }
}

/** Place a flat graph with dagre, a global name in the worker. */
function placeByDagre(nodes, edges) {
  const { Graph } = dagre.graphlib;
  const graph = new Graph();
  graph.setGraph({ ranksep: 36, nodesep: 26, edgesep: 16, marginx: 4, marginy: 4, rankalign: "top" });
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

// The worker of the page, and the number of the latest request to it.
const shared = { worker: null, number: 0 };

/** Lays graphs out in a worker; only the answer to the latest request is told. */
export class Layouter {
  /** Lay a graph out, then call `done(graph, simple)`; `simple` is true if no worker could. */
  async request(graph, done) {
    shared.number += 1;
    const { number } = shared;
    const inPage = () => {
      shared.worker = Promise.resolve(null);
      if (number === shared.number) done(layOut(graph, placeInColumn), true);
    };
    shared.worker ??= startWorker();
    const worker = await shared.worker;
    if (!worker) return inPage();
    worker.onmessage = ({ data }) => {
      if (data.number === shared.number) done(data.graph, false);
    };
    worker.onerror = inPage;
    if (number === shared.number) worker.postMessage({ number, graph });
    return undefined;
  }

  /** Lay a graph out at once, in one column. */
  now(graph, done) {
    shared.number += 1;
    done(layOut(graph, placeInColumn), false);
  }
}

/** Return a worker with dagre, null if the browser runs none. */
async function startWorker() {
  try {
    const parts = [await unpacked("dagre"), `(${serveLayouts})(${layOut}, ${placeByDagre})`];
    return new Worker(URL.createObjectURL(new Blob([parts.join(";\n")], { type: "text/javascript" })));
  } catch {
    return null;
  }
}
