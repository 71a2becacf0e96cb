/** The names of rows, and the modules around them, as labels beside a plot. */

import { cut } from "../frame/text.js";
import { color } from "../frame/theme.js";

const READABLE = 12;

/** Names with dots. A group of depth d is a run of neighbours whose first d parts are the same. */
export class RowNames {
  constructor(names) {
    this.names = names;
    this.depths = [];
    const parts = names.map((name) => name.split("."));
    const deepest = parts.reduce((most, part) => Math.max(most, part.length), 0);
    for (let depth = 1; depth < deepest; depth += 1) {
      this.depths.push(parts.map((part) => part.slice(0, -1).slice(0, depth).join(".")));
    }
  }

  /** Take `order`, the rows that are shown, and find the runs of each depth. */
  arrange(order) {
    this.order = order;
    this.runs = this.depths.map((groups) => {
      const starts = [];
      order.forEach((id, at) => {
        if (at === 0 || groups[id] !== groups[order[at - 1]]) starts.push(at);
      });
      return starts;
    });
  }

  /** Choose the labels for rows of this height; return how wide they are, in characters. */
  plan(height) {
    const most = (height * this.order.length) / (READABLE + 2);
    const depth = this.runs.findLastIndex((starts) => starts.length <= most);
    const rows = height >= READABLE;
    this.starts = rows ? [...this.order.keys()] : this.runs[depth] ?? [];
    this.texts = rows ? this.names : this.depths[depth];
    return this.starts.reduce((most, at) => Math.max(most, this.texts[this.order[at]].length), 4);
  }

  /** Draw the labels: of rows if these are high enough, else of the deepest groups that are. */
  draw(ctx, view) {
    const rows = view.row >= READABLE;
    const room = Math.floor((view.left - 14) / view.letter);
    ctx.textAlign = rows ? "right" : "left";
    ctx.fillStyle = color("--text");
    this.starts.forEach((start, index) => {
      const end = this.starts[index + 1] ?? this.order.length;
      if (end <= view.first || start >= view.last) return;
      const from = Math.max(view.yOf(start), view.top);
      const height = Math.min(view.yOf(end), view.top + view.height) - from;
      const text = cut(this.texts[this.order[start]], room);
      if (rows) ctx.fillText(text, view.left - 8, view.yOf(start + 0.5));
      else if (height >= READABLE - 2) ctx.fillText(text, 0, from + Math.min(height, 18) / 2);
      ctx.fillStyle = color("--line");
      if (!rows && start) ctx.fillRect(0, view.yOf(start), view.left, 1);
      ctx.fillStyle = color("--text");
    });
  }
}
