/** Norms of one step as bars on a log axis, with the norms of the weights and of layers' outputs. */

import { drawMark, markOf } from "./gradient_cells.js";
import { color } from "./theme.js";

const MARK = 14;
const READABLE_ROW = 11;

/** The series of the bars, for the legend: what they are, and their colours. */
export const SERIES = [
  { id: "grad", word: "norm of the gradient", color: "--backward" },
  { id: "weight", word: "norm of the weight", color: "--muted" },
  { id: "output", word: "norm of the gradient at the layer's output", color: "--optimizer" },
];

/** Return [low, high], the powers of ten that contain all values above 0; null without any. */
export function decadesOf(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (typeof value !== "number" || !(value > 0)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (high < low) return null;
  const ends = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  return ends[0] === ends[1] ? [ends[0] - 1, ends[1]] : ends;
}

function placeOf(view, [low, high], value) {
  const part = (Math.log10(value) - low) / (high - low);
  return view.left + 2 + part * (view.width - 10);
}

/** Draw the rows in `order`; rows that share a line of pixels show the largest of each series. */
export function drawBars(ctx, view, series, decades, order, inks) {
  const height = view.row * view.rows;
  const thick = height >= 6 ? Math.round(height * 0.62) : height;
  drawDecades(ctx, view, decades);
  for (let first = view.first - (view.first % view.rows); first < view.last; first += view.rows) {
    const ids = order.slice(first, first + view.rows);
    const y = view.yOf(first) + (height - thick) / 2;
    const grads = ids.map((id) => series.grad[id]);
    const grad = largest(grads);
    if (grad > 0) {
      ctx.fillStyle = color("--backward");
      ctx.fillRect(view.left, y, placeOf(view, decades, grad) - view.left, thick);
    }
    const mark = worstMark(grads);
    if (mark && (!(grad > 0) || mark.code > 252)) {
      const size = Math.min(MARK, height);
      drawMark(ctx, mark, inks, view.left, y + (thick - size) / 2, MARK, size);
      if (height >= READABLE_ROW) {
        ctx.font = "12px system-ui, sans-serif";
        ctx.textAlign = "left";
        ctx.textBaseline = "middle";
        ctx.fillStyle = color("--muted");
        ctx.fillText(mark.word, view.left + MARK + 6, y + thick / 2);
      }
    }
    drawOutput(ctx, view, decades, largest(ids.map((id) => series.output[id])), y, thick);
    drawWeight(ctx, view, decades, largest(ids.map((id) => series.weight[id])), y + thick / 2, height);
  }
}

function largest(values) {
  return values.reduce((most, value) => (value > most ? value : most), 0);
}

function worstMark(values) {
  const marks = values.map(markOf).filter(Boolean);
  return marks.sort((a, b) => b.code - a.code)[0];
}

function drawOutput(ctx, view, decades, value, y, thick) {
  if (!(value > 0 && value < Infinity)) return;
  ctx.fillStyle = color("--optimizer");
  ctx.fillRect(placeOf(view, decades, value) - 1, y - 2, 2, Math.max(thick + 4, 2));
}

function drawWeight(ctx, view, decades, value, y, height) {
  if (!(value > 0 && value < Infinity)) return;
  ctx.beginPath();
  ctx.arc(placeOf(view, decades, value), y, Math.min(Math.max(height / 4, 1), 3.5), 0, 7);
  ctx.fillStyle = color("--page");
  ctx.strokeStyle = color("--muted");
  ctx.lineWidth = 1.5;
  if (height >= 6) ctx.fill();
  ctx.stroke();
}

function strideOf(view, [low, high]) {
  return Math.max(Math.ceil((high - low) / Math.max(view.width / 64, 1)), 1);
}

function drawDecades(ctx, view, decades) {
  if (!decades) return;
  ctx.strokeStyle = color("--line");
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let power = decades[0]; power <= decades[1]; power += strideOf(view, decades)) {
    const x = Math.round(placeOf(view, decades, 10 ** power)) + 0.5;
    ctx.moveTo(x, view.top);
    ctx.lineTo(x, view.top + view.height);
  }
  ctx.stroke();
}

/** Write the powers of ten above the bars. */
export function drawNormAxis(ctx, view, decades) {
  ctx.fillStyle = color("--muted");
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  ctx.fillText("norm", view.left - 8, view.top - 13);
  if (!decades) return;
  ctx.textAlign = "center";
  const room = view.left + view.width;
  for (let power = decades[0]; power <= decades[1]; power += strideOf(view, decades)) {
    const text = power >= -3 && power <= 4 ? String(Number(`1e${power}`)) : `1e${power}`;
    const half = (text.length * view.letter) / 2;
    const x = placeOf(view, decades, 10 ** power);
    ctx.fillText(text, Math.min(Math.max(x, view.left + half), room - half), view.top - 13);
  }
}
