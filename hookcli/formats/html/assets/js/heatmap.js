/** A heat map: rows by columns of bytes, drawn pixel by pixel; neighbours share what is too small. */

import { MARKS, drawGlyph } from "./gradient_cells.js";
import { color } from "./theme.js";

const ROOM_FOR_GLYPH = 10;

/**
 * The bytes of cells by row, and for binned columns the maxima of 2, 4, 8 … neighbours, which are
 * found when they are drawn first.
 */
export class CellBytes {
  constructor(rows, columns) {
    this.columns = columns;
    this.bytes = new Uint8Array(rows * columns);
    this.levels = [{ bytes: this.bytes, columns }];
  }

  /** Return the maxima of 2 ** level neighbours, and how many there are in a row. */
  level(level) {
    while (this.levels.length <= level) {
      const { bytes, columns } = this.levels.at(-1);
      const rows = this.bytes.length / this.columns;
      const half = Math.ceil(columns / 2);
      const next = new Uint8Array(rows * half);
      for (let row = 0; row < rows; row += 1) {
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

/** Draw the bytes of the rows in `order` into the rectangle of a view. */
export function drawHeatmap(ctx, view, cells, order, inks) {
  const { ratio } = view;
  const width = Math.round(view.width * ratio);
  const height = Math.round(view.height * ratio);
  if (!width || !height || !order.length) return;
  const level = cells.level(Math.log2(view.columns));
  const image = ctx.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const column = view.column * view.columns * ratio;
  const start = Math.floor((view.x * ratio) / column);
  const end = Math.min(Math.ceil((view.x * ratio + width) / column), level.columns);
  const edges = new Int32Array(end - start + 1);
  for (let at = start; at <= end; at += 1) {
    edges[at - start] = Math.min(Math.max(Math.round(at * column - view.x * ratio), 0), width);
  }
  const bins = new Uint8Array(end - start);
  const gap = Math.min(view.row * view.rows, view.column * view.columns) >= 7 ? 1 : 0;
  const glyphs = [];
  const large = view.row * view.rows >= ROOM_FOR_GLYPH && column / ratio >= ROOM_FOR_GLYPH;
  for (let first = view.first - (view.first % view.rows); first < view.last; first += view.rows) {
    const last = Math.min(first + view.rows, order.length);
    worst(bins, level, order, first, last, start);
    const y0 = Math.max(Math.round((first * view.row - view.y) * ratio), 0);
    const y1 = Math.min(Math.round((last * view.row - view.y) * ratio), height);
    fillRow(pixels, width, y0, y1 - gap, bins, edges, gap, inks, large);
    if (large) {
      for (const [at, byte] of bins.entries()) {
        const mark = MARKS.find(({ code, glyph }) => code === byte && glyph);
        if (mark) glyphs.push([mark, (start + at + 0.5) * column / ratio - view.x, (first + last) / 2]);
      }
    }
  }
  ctx.putImageData(image, Math.round(view.left * ratio), Math.round(view.top * ratio));
  const size = Math.min(view.row, view.column);
  for (const [mark, x, row] of glyphs) {
    drawGlyph(ctx, mark, view.left + x, view.yOf(row), size);
  }
}

function worst(bins, level, order, first, last, start) {
  bins.fill(0);
  for (let at = first; at < last; at += 1) {
    const from = order[at] * level.columns + start;
    for (let bin = 0; bin < bins.length; bin += 1) {
      const byte = level.bytes[from + bin];
      if (byte > bins[bin]) bins[bin] = byte;
    }
  }
}

/** Fill lines of pixels with a row of bins: one line and its copies, or tiles of marks. */
function fillRow(pixels, width, y0, y1, bins, edges, gap, inks, large) {
  if (y1 <= y0) return;
  const tiled = [];
  for (let bin = 0; bin < bins.length; bin += 1) {
    const byte = bins[bin];
    pixels.fill(inks.colors[byte], y0 * width + edges[bin], y0 * width + edges[bin + 1] - gap);
    const mark = MARKS.find(({ code }) => code === byte);
    if (mark && !(large && mark.glyph)) tiled.push(bin);
  }
  for (let y = y0 + 1; y < y1; y += 1) {
    pixels.copyWithin(y * width, y0 * width, (y0 + 1) * width);
  }
  const { size, tiles } = inks;
  for (const bin of tiled) {
    const tile = tiles.get(bins[bin]).pixels;
    for (let y = y0; y < y1; y += 1) {
      const line = (y % size) * size;
      for (let x = edges[bin]; x < edges[bin + 1] - gap; x += 1) {
        pixels[y * width + x] = tile[line + (x % size)];
      }
    }
  }
}

/** Write the numbers of as many columns as have room, at regular distances, and ticks to them. */
export function drawColumnAxis(ctx, view, numbers, title) {
  ctx.fillStyle = color("--muted");
  ctx.textBaseline = "middle";
  const y = view.top - 13;
  ctx.textAlign = "right";
  ctx.fillText(title, view.left - 8, y);
  const widest = Math.max(...[numbers[0], numbers.at(-1)].map((number) => String(number).length));
  const least = ((widest + 2) * view.letter) / view.column;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const stride = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least);
  ctx.textAlign = "center";
  ctx.strokeStyle = color("--line");
  ctx.beginPath();
  for (let at = Math.ceil(view.start / stride) * stride; at < view.end; at += stride) {
    const x = view.xOf(at + 0.5);
    const half = (String(numbers[at]).length * view.letter) / 2;
    ctx.fillText(numbers[at], Math.max(x, view.left + half), y);
    ctx.moveTo(x, view.top - 5);
    ctx.lineTo(x, view.top);
  }
  ctx.stroke();
}
