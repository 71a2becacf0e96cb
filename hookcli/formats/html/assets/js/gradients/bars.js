/** Norms of one step as bars on a log axis, with those of the weights and of layers' outputs. */

import { drawMark, markOf, sizeOf } from "./cells.js";
import { color } from "../frame/theme.js";

/** What is drawn in a row: how, and its name in the legend. */
export const SERIES = {
  grad: "norm of the gradient",
  output: "norm of the gradient at the layer's output",
  weight: "norm of the weight",
};
const SERIES_COLORS = { grad: "--backward", output: "--optimizer", weight: "--muted" };

/** Return the powers of ten that contain all values above 0. */
export function decadesOf(lists) {
  const logs = lists.flat().filter((value) => value > 0 && value < Infinity).map(Math.log10);
  const low = Math.floor(logs.reduce((a, b) => Math.min(a, b), 0));
  return [low, Math.max(Math.ceil(logs.reduce((a, b) => Math.max(a, b), low)), low + 1)];
}

/** Draw one of the series in a row around y, up to or at x. */
export function drawSeries(ctx, id, left, x, y, height) {
  ctx.fillStyle = color(SERIES_COLORS[id]);
  const thick = height > 6 ? height * 0.64 : height;
  if (id === "grad") ctx.fillRect(left, y - thick / 2, x - left, thick);
  else if (id === "output") ctx.fillRect(x - 1, y - height * 0.45, 2, height * 0.9);
  else {
    ctx.beginPath();
    ctx.arc(x, y, Math.min(Math.max(height / 4, 1.5), 3.5), 0, 7);
    ctx.strokeStyle = color("--page");
    ctx.lineWidth = 3;
    ctx.stroke();
    ctx.fill();
  }
}

function xOfNorm(view, [low, high], norm) {
  return view.left + 2 + ((Math.log10(norm) - low) / (high - low)) * (view.width - 10);
}

/** Draw the rows in `order`; those that share a line have the largest of each series. */
export function drawBars(ctx, view, series, decades, order, inks) {
  const height = view.row * view.rows;
  ctx.fillStyle = color("--line");
  for (const [x] of normTicks(view, decades).slice(1)) ctx.fillRect(x, view.top, 1, view.height);
  for (let first = view.first - (view.first % view.rows); first < view.last; first += view.rows) {
    const ids = order.slice(first, first + view.rows);
    const y = view.yOf(first) + height / 2;
    const marks = ids.map((id) => markOf(series.grad[id])).filter(Boolean);
    const mark = marks.sort((a, b) => b.code - a.code)[0];
    if (mark && (mark.code > 252 || marks.length === ids.length)) {
      const size = Math.min(14, height);
      drawMark(ctx, mark, inks, view.left, y - size / 2, 14, size);
      ctx.fillStyle = color("--muted");
      ctx.font = "12px system-ui, sans-serif";
      ctx.textAlign = "left";
      if (height > 10) ctx.fillText(mark.word, view.left + 20, y);
    }
    for (const id of Object.keys(SERIES)) {
      const norm = ids.reduce((most, row) => Math.max(most, sizeOf(series[id][row])), 0);
      if (norm && norm < Number.MAX_VALUE) {
        drawSeries(ctx, id, view.left, xOfNorm(view, decades, norm), y, height);
      }
    }
  }
}

/** Return the axis of norms: powers of ten. */
export function normTicks(view, [low, high]) {
  const stride = Math.ceil((high - low) / Math.max(view.width / 64, 1));
  const ticks = ["norm"];
  for (let power = low; power <= high; power += stride) {
    const text = Math.abs(power) < 4 ? `${Number(`1e${power}`)}` : `1e${power}`;
    ticks.push([xOfNorm(view, [low, high], 10 ** power), text]);
  }
  return ticks;
}
