/** The names of rows and the modules around them, for labels beside a plot. */

import { cut } from "./text.js";
import { color } from "./theme.js";

const READABLE = 12;

/**
 * Names with dots, as `layer1.0.conv.weight`. A group of depth d is a run of neighbours of which the
 * first d parts are the same; the last part of a name belongs to no group.
 */
export class RowNames {
  constructor(names) {
    this.names = names;
    this.leaf = names.map((name) => name.slice(name.lastIndexOf(".") + 1));
    this.depths = [];
    this.widest = this.leaf.reduce((most, leaf) => Math.max(most, leaf.length), 0);
    this.longest = names.reduce((most, name) => Math.max(most, name.length), 0);
    const index = new Map();
    const parts = names.map((name) => name.split("."));
    const deepest = parts.reduce((most, part) => Math.max(most, part.length - 1), 0);
    const above = parts.map(() => "");
    for (let depth = 1; depth <= deepest; depth += 1) {
      const groups = new Int32Array(names.length);
      parts.forEach((part, id) => {
        if (part.length > depth) above[id] += depth > 1 ? `.${part[depth - 1]}` : part[0];
        if (!index.has(above[id])) index.set(above[id], index.size);
        groups[id] = index.get(above[id]);
      });
      this.depths.push(groups);
    }
    this.texts = [...index.keys()];
  }

  /** Take `order`, the rows that are shown: find the runs of each depth, the coarsest first. */
  arrange(order) {
    this.order = order;
    this.runs = this.depths.map((groups) => {
      const starts = [];
      for (let at = 0; at < order.length; at += 1) {
        if (at === 0 || groups[order[at]] !== groups[order[at - 1]]) starts.push(at);
      }
      return starts;
    });
  }

  /**
   * Choose the labels for rows of this height: `single` if each has one, else those of the deepest
   * groups that have room. Return how wide the labels are, in characters.
   */
  plan(height) {
    this.single = height >= READABLE;
    this.depth = this.depths.length - 1;
    if (this.single) return this.longest;
    const most = (height * this.order.length) / (READABLE + 2);
    while (this.depth >= 0 && this.runs[this.depth].length > most) this.depth -= 1;
    const texts = (this.runs[this.depth] ?? []).map((start) => this.groupText(start).length);
    return texts.reduce((longest, length) => Math.max(longest, length), 4);
  }

  groupText(start) {
    return this.texts[this.depths[this.depth][this.order[start]]];
  }

  /** Draw the labels at the left of a plot. */
  draw(ctx, view) {
    if (!this.order.length) return;
    const { single, depth } = this;
    const room = Math.floor((view.left - 14) / view.letter);
    ctx.textBaseline = "middle";
    const columns = single && depth >= 0 && room >= 26;
    if (depth >= 0 && (columns || !single)) {
      this.drawGroups(ctx, view, columns ? room - Math.min(this.widest, 14) - 2 : room);
    }
    if (!single) return;
    ctx.textAlign = "right";
    ctx.fillStyle = color(columns ? "--muted" : "--text");
    for (let at = view.first; at < view.last; at += 1) {
      const id = this.order[at];
      const text = columns ? cut(this.leaf[id], 14) : cut(this.names[id], room);
      ctx.fillText(text, view.left - 8, view.yOf(at + 0.5));
    }
  }

  drawGroups(ctx, view, most) {
    const runs = this.runs[this.depth];
    ctx.textAlign = "left";
    ctx.fillStyle = color("--text");
    ctx.strokeStyle = color("--line");
    ctx.beginPath();
    runs.forEach((start, index) => {
      const end = runs[index + 1] ?? this.order.length;
      if (end <= view.first || start >= view.last) return;
      const from = Math.max(view.yOf(start), view.top);
      const to = Math.min(view.yOf(end), view.top + view.height);
      const y = Math.round(view.yOf(start)) + 0.5;
      if (start > view.first) {
        ctx.moveTo(0, y);
        ctx.lineTo(view.left, y);
      }
      const height = view.row >= READABLE ? view.row : Math.min(to - from, 18);
      if (to - from >= READABLE - 2) ctx.fillText(cut(this.groupText(start), most), 2, from + height / 2);
    });
    ctx.stroke();
  }
}
