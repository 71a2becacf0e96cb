/** A heat map of bytes: a pixel for each bin of cells, enlarged; marks are drawn over it. */

import { MARKS, drawMark } from "./cells.js";
import { color } from "../frame/theme.js";

const SEPARATE = 7;

/** The bytes of cells by row, and the maxima of 2, 4, 8 … neighbours in a row. */
export class CellBytes {
  constructor(rows, columns) {
    this.rows = rows;
    this.bytes = new Uint8Array(rows * columns);
    this.levels = [{ bytes: this.bytes, columns }];
  }

  /** Return the maxima of 2 ** level neighbours, and how many there are in a row. */
  level(level) {
    while (this.levels.length <= level) {
      const { bytes, columns } = this.levels.at(-1);
      const half = Math.ceil(columns / 2);
      const next = new Uint8Array(this.rows * half);
      for (let row = 0; row < this.rows; row += 1) {
        for (let at = 0; at < columns; at += 1) {
          const to = row * half + (at >> 1);
          const byte = bytes[row * columns + at];
          if (byte > next[to]) next[to] = byte;
        }
      }
      this.levels.push({ bytes: next, columns: half });
    }
    return this.levels[level];
  }
}

/** Draw the bytes of the rows in `order`; a bin has the largest of its cells. */
export function drawHeatmap(ctx, view, cells, order, inks) {
  const { bytes, columns } = cells.level(Math.log2(view.columns));
  const start = Math.floor(view.start / view.columns);
  const width = Math.ceil(view.end / view.columns) - start;
  const first = Math.floor(view.first / view.rows);
  const height = Math.ceil(view.last / view.rows) - first;
  if (!(width > 0 && height > 0)) return;
  const bins = new Uint8Array(width * height);
  for (let row = 0; row < height; row += 1) {
    const from = (first + row) * view.rows;
    const to = Math.min(from + view.rows, order.length);
    for (let at = from; at < to; at += 1) {
      const offset = order[at] * columns + start;
      for (let column = 0; column < width; column += 1) {
        const byte = bytes[offset + column];
        if (byte > bins[row * width + column]) bins[row * width + column] = byte;
      }
    }
  }
  const [x, y] = [view.xOf(start * view.columns), view.yOf(first * view.rows)];
  const [w, h] = [view.columns * view.column, view.rows * view.row];
  drawPixels(ctx, Uint32Array.from(bins, (byte) => inks.colors[byte]), width, x, y, w, h);
  drawMarks(ctx, bins, width, inks, x, y, w, h);
  if (Math.min(w, h) < SEPARATE) return;
  ctx.fillStyle = color("--page");
  for (let at = 1; at <= width; at += 1) ctx.fillRect(x + at * w - 1, y, 1, height * h);
  for (let at = 1; at <= height; at += 1) ctx.fillRect(x, y + at * h - 1, width * w, 1);
}

function drawPixels(ctx, pixels, width, x, y, w, h) {
  const height = pixels.length / width;
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const data = new Uint8ClampedArray(pixels.buffer);
  canvas.getContext("2d").putImageData(new ImageData(data, width, height), 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(canvas, x, y, width * w, height * h);
}

/** Draw a mark in each cell that has room for it, else one pattern over neighbours. */
function drawMarks(ctx, bins, width, inks, x, y, w, h) {
  const byCode = new Map(MARKS.map((mark) => [mark.code, mark]));
  const apart = Math.min(w, h) >= SEPARATE;
  for (let at = 0, next = 1; at < bins.length; at = next, next += 1) {
    const mark = byCode.get(bins[at]);
    if (!mark) continue;
    while (!apart && next % width && bins[next] === bins[at]) next += 1;
    const top = y + Math.floor(at / width) * h;
    drawMark(ctx, mark, inks, x + (at % width) * w, top, (next - at) * w, h);
  }
}

/** Return the axis of columns: the numbers of as many as have room, at regular distances. */
export function columnTicks(view, numbers) {
  const letters = Math.max(...[numbers[0], numbers.at(-1)].map((number) => `${number}`.length)) + 2;
  const least = (letters * view.letter) / view.column;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const stride = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least);
  const ticks = ["step"];
  for (let at = Math.ceil(view.start / stride) * stride; at < view.end; at += stride) {
    ticks.push([view.xOf(at + 0.5), numbers[at]]);
  }
  return ticks;
}
