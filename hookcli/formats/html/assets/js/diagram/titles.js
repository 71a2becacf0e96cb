/** What the diagram says about a box in words: its name for screen readers, its tip, its marks. */

import { counted } from "../frame/text.js";

/** The words of boxes. */
export class BoxTitles {
  constructor(tree) {
    this.tree = tree;
    this.found = findingsWithin(tree);
  }

  /** Return the accessible name of a box: what it is, what it returns, whether it is open. */
  name(box, open) {
    const state = box.children.length ? (open ? "expanded" : "collapsed") : null;
    return [...this.facts(box), state].filter(Boolean).join(", ");
  }

  facts(box) {
    if (box.group) return [this.tree.name(box), this.tree.fullName(box)];
    const { layers } = this.tree.record;
    const output = layers.output.get(box.row);
    const parameters = layers.parameters[box.row];
    return [
      this.tree.fullName(box),
      layers.type.get(box.row),
      box.rows.length > 1 ? counted(box.rows.length, "call") : null,
      output ? `output ${output}` : null,
      parameters ? counted(parameters, "parameter") : null,
      layers.status.get(box.row),
    ];
  }

  /** Return the text that is shown when the pointer rests on a box. */
  tip(box, again) {
    const input = box.row < 0 ? null : this.tree.record.layers.input.get(box.row);
    const more = [input ? `input ${input}` : "", again ? "one call gets the output of another" : ""];
    return [...this.facts(box), ...more].filter(Boolean).join("\n");
  }

  /** Return {kind, text} for what is wrong with a box, or with what a closed box contains. */
  mark(box, open) {
    const found = this.found.get(box.index)?.[open ? "own" : "all"];
    if (!found) return null;
    if (found.raised) return { kind: "error", text: "raised" };
    return found.error
      ? { kind: "error", text: `${found.error} ✕` }
      : { kind: "warning", text: `${found.warning} !` };
  }

  /** Whether a module was not called. */
  uncalled(box) {
    return box.row >= 0 && this.tree.record.layers.call[box.row] < 0;
  }
}

/** Return how much is wrong by index of a box: with its own calls, and with all within it. */
function findingsWithin(tree) {
  const { layers, checks } = tree.record;
  const found = new Map();
  const count = (group, kind) => ({ ...group, [kind]: (group?.[kind] ?? 0) + 1 });
  const add = (row, kind) => {
    const own = tree.ofRow[row];
    for (let box = own; box; box = box.parent) {
      const known = found.get(box.index) ?? { own: null, all: null };
      found.set(box.index, {
        own: box === own ? count(known.own, kind) : known.own,
        all: count(known.all, kind),
      });
    }
  };
  for (const { layer, outcome, severity } of checks) {
    const failed = outcome === "fail" || outcome === "warning";
    if (failed && layer >= 0) add(layer, severity === "error" ? "error" : "warning");
  }
  const raised = layers.status.texts.map((words) => words.split(" ").includes("raised"));
  layers.status.at.forEach((text, row) => {
    if (raised[text]) add(row, "raised");
  });
  return found;
}
