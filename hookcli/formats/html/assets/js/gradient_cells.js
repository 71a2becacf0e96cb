/** What a gradient is shown as: its norm as a colour, or a mark if it has none. */

import { figure } from "./text.js";
import { color } from "./theme.js";

/**
 * The gradients without a norm. Cells are stored as bytes, `code`, of which the larger is the worse,
 * so that the worst of many cells is the maximum of their bytes; those between are norms.
 */
export const MARKS = [
  { code: 255, id: "nan", word: "NaN", glyph: "×", fill: "--data-nan", ink: "--page" },
  { code: 254, id: "inf", word: "infinite", glyph: "∞", fill: "--data-inf", ink: "--page" },
  { code: 253, id: "none", word: "no gradient", glyph: "", fill: "--data-none", ink: "--data-zero" },
  { code: 2, id: "zero", word: "all zeros", glyph: "0", fill: "--data-zero", ink: "--page" },
  { code: 1, id: "frozen", word: "frozen", glyph: "–", fill: "--surface", ink: "--data-zero" },
  { code: 0, id: "unknown", word: "not measured", glyph: "", fill: "--page", ink: "--page" },
];
const [NAN, INF, NONE, ZERO, FROZEN, UNKNOWN] = MARKS;
const LOWEST = 3;
const HIGHEST = 252;
const TILE = 8;
const LINES = {
  nan: [[2, 2, 6, 6], [6, 2, 2, 6]],
  inf: [[1.5, 3, 6.5, 3], [1.5, 5.5, 6.5, 5.5]],
  none: [[-1, 9, 9, -1], [-1, 1, 1, -1], [7, 9, 9, 7]],
  zero: [[3.2, 4, 4.8, 4]],
  frozen: [[1, 4, 7, 4]],
  unknown: [],
};

/** Return the mark of a gradient as the data of the page has it; null if it has a norm. */
export function markOf(value) {
  if (value === null) return NONE;
  if (typeof value === "number") return value > 0 ? null : ZERO;
  return { "": UNKNOWN, frozen: FROZEN, nan: NAN }[value] ?? INF;
}

/** Return a norm in figures, or what its mark means. */
export function cellText(value) {
  return markOf(value)?.word ?? figure(value);
}

/** Return the byte of a gradient; `low` and `high` are log10 of the norms at the palette's ends. */
export function codeOf(value, low, high) {
  const mark = markOf(value);
  if (mark) return mark.code;
  const part = (Math.log10(value) - low) / (high - low);
  return Math.round(LOWEST + Math.min(Math.max(part, 0), 1) * (HIGHEST - LOWEST));
}

/** Return a number by which gradients are sorted: NaN is above all, not measured below all. */
export function sizeOf(value) {
  if (typeof value === "number") return value;
  if (value === null) return -1;
  return { nan: Infinity, frozen: -2, "": -3 }[value] ?? Number.MAX_VALUE;
}

/** Return the gradient of two parameters together: the 2-norm, or the worse mark. */
export function joined(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.hypot(a, b);
  return sizeOf(a) >= sizeOf(b) ? a : b;
}

/** Return the colours of bytes, and a tile for each mark, in pixels of the screen. */
export function createInks(palette, ratio) {
  const colors = new Uint32Array(256);
  const ramp = pixelsOf(HIGHEST - LOWEST + 1, 1, (ctx, width) => {
    ctx.fillStyle = rampOf(ctx, palette, 0, width);
    ctx.fillRect(0, 0, width, 1);
  });
  colors.set(ramp.pixels, LOWEST);
  const size = Math.round(TILE * ratio);
  const tiles = new Map();
  for (const mark of MARKS) {
    const fill = (ctx, width, height) => {
      ctx.fillStyle = color(mark.fill);
      ctx.fillRect(0, 0, width, height);
    };
    const flat = pixelsOf(1, 1, fill);
    [colors[mark.code]] = flat.pixels;
    tiles.set(mark.code, pixelsOf(size, size, (ctx) => {
      fill(ctx, size, size);
      ctx.scale(size / TILE, size / TILE);
      ctx.strokeStyle = color(mark.ink);
      ctx.lineWidth = 1.3;
      ctx.lineCap = "round";
      for (const [x0, y0, x1, y1] of LINES[mark.id]) {
        ctx.beginPath();
        ctx.moveTo(x0, y0);
        ctx.lineTo(x1, y1);
        ctx.stroke();
      }
    }));
  }
  return { colors, tiles, size, ratio };
}

/** Return the palette from x to x + width as a fill. */
export function rampOf(ctx, palette, x, width) {
  const gradient = ctx.createLinearGradient(x, 0, x + width, 0);
  palette.forEach((stop, index) => gradient.addColorStop(index / (palette.length - 1), stop));
  return gradient;
}

function pixelsOf(width, height, draw) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  draw(ctx, width, height);
  return { canvas, pixels: new Uint32Array(ctx.getImageData(0, 0, width, height).data.buffer) };
}

/** Fill a rectangle with a mark: its glyph in the middle, or its lines. */
export function drawMark(ctx, mark, inks, x, y, width, height) {
  if (mark.glyph) {
    ctx.fillStyle = color(mark.fill);
    ctx.fillRect(x, y, width, height);
    drawGlyph(ctx, mark, x + width / 2, y + height / 2, Math.min(width, height));
    return;
  }
  const pattern = ctx.createPattern(inks.tiles.get(mark.code).canvas, "repeat");
  pattern.setTransform(new DOMMatrix([1 / inks.ratio, 0, 0, 1 / inks.ratio, x, y]));
  ctx.fillStyle = pattern;
  ctx.fillRect(x, y, width, height);
}

/** Write the glyph of a mark around a point, in a square of this size. */
export function drawGlyph(ctx, mark, x, y, size) {
  ctx.fillStyle = color(mark.ink);
  ctx.font = `600 ${Math.min(Math.max(size * 0.8, 9), 15)}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(mark.glyph, x, y + 0.5);
}
