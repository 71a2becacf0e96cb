/** The calls before and after a call: those that it gets tensors from, and that get its own. */

/**
 * Return {sources, targets}: maps from rows to the shapes of the tensors (a source of -1 is the
 * batch). What is inside of the call counts as the call. A target is named by its outermost call
 * that does not contain this one; `outputs` are the calls around this one that return its tensors.
 */
export function neighbours({ edges, layers }, row) {
  const found = { sources: new Map(), targets: new Map(), outputs: new Map() };
  if (!edges) return found;
  const { parent } = layers;
  const inside = new Uint8Array(layers.count);
  for (let at = row; at < layers.count; at += 1) inside[at] = at === row || inside[parent[at]] ? 1 : 0;
  const around = new Set([-1]);
  for (let at = parent[row]; at >= 0; at = parent[at]) around.add(at);
  for (let edge = 0; edge < edges.count; edge += 1) {
    const [source, target] = [edges.source[edge], edges.target[edge]];
    if (inside[target] === (inside[source] ?? 0)) continue;
    const shape = edges.shape.get(edge) ?? "";
    if (inside[target]) {
      if (!edges.end[edge]) found.sources.set(source, shape);
    } else if (edges.end[edge] && around.has(target)) found.outputs.set(target, shape);
    else {
      let outer = target;
      while (!around.has(parent[outer])) outer = parent[outer];
      if (!around.has(outer)) found.targets.set(outer, shape);
    }
  }
  return found;
}
