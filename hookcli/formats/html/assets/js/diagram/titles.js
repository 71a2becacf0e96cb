/** What the diagram says about a box in words: its name for screen readers, its tip, its marks. */

import { counted } from "../text.js";

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
    const { errors, warnings, raised } = this.found[box.index][open ? "own" : "all"];
    if (raised) return { kind: "error", text: "raised" };
    if (errors) return { kind: "error", text: `${errors} ✕` };
    if (warnings) return { kind: "warning", text: `${warnings} !` };
    return null;
  }

  /** Whether a module was not called. */
  uncalled(box) {
    return box.row >= 0 && this.tree.record.layers.call[box.row] < 0;
  }
}

/** Return the number of findings of each box, by index: its own, and with those within it. */
function findingsWithin(tree) {
  const { layers, checks } = tree.record;
  const none = () => ({ errors: 0, warnings: 0, raised: 0 });
  const found = tree.list.map(() => ({ own: none(), all: none() }));
  for (const { layer, outcome, severity } of checks) {
    if (!(layer >= 0) || (outcome !== "fail" && outcome !== "warning")) continue;
    found[tree.ofRow[layer].index].own[severity === "error" ? "errors" : "warnings"] += 1;
  }
  const raised = layers.status.texts.map((words) => words.split(" ").includes("raised"));
  for (const box of tree.list) {
    if (box.rows.some((row) => raised[layers.status.at[row]])) found[box.index].own.raised = 1;
  }
  for (const box of tree.list.toReversed()) {
    const { own, all } = found[box.index];
    for (const key of Object.keys(own)) {
      all[key] += own[key];
      if (box.parent) found[box.parent.index].all[key] += all[key];
    }
  }
  return found;
}
