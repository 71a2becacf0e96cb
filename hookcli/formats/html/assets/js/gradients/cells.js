/** What a gradient is shown as: its norm as a colour, or a mark if it has none. */

import { figure } from "../frame/text.js";
import { color } from "../frame/theme.js";

/**
 * The gradients without a norm. A cell is a byte, `code`, and a worse one is larger, so that the
 * worst of many cells is their maximum. The bytes between are norms.
 */
export const MARKS = [
  { code: 255, id: "nan", word: "NaN", glyph: "×", ink: "--page" },
  { code: 254, id: "inf", word: "infinite", glyph: "∞", ink: "--page" },
  { code: 253, id: "none", word: "no gradient", ink: "--data-zero" },
  { code: 2, id: "zero", word: "all zeros", glyph: "0", ink: "--page" },
  { code: 1, id: "frozen", word: "frozen", glyph: "–", ink: "--data-zero" },
  { code: 0, id: "unknown", word: "not measured", glyph: " ", ink: "--page" },
];
const [NAN, INF, NONE, ZERO, FROZEN, UNKNOWN] = MARKS;
const [LOWEST, HIGHEST] = [3, 252];
const TILE = 8;
const SHARP = 2;

/** Return the mark of a gradient as the data of the page has it; undefined if it has a norm. */
export function markOf(value) {
  if (value === null) return NONE;
  if (typeof value === "number") return value > 0 ? undefined : ZERO;
  return { "": UNKNOWN, frozen: FROZEN, nan: NAN }[value] ?? INF;
}

/** Return a norm in figures, or what its mark means. */
export function cellText(value) {
  return markOf(value)?.word ?? figure(value);
}

/** Return the byte of a gradient; `low` and `high` are log10 of the norms at the palette's ends. */
export function codeOf(value, low, high) {
  const part = (Math.log10(value) - low) / (high - low);
  return markOf(value)?.code ??
    Math.round(LOWEST + Math.min(Math.max(part, 0), 1) * (HIGHEST - LOWEST));
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

/** Return the colours of bytes as pixels, and a pattern for each mark. */
export function createInks(palette) {
  const colors = new Uint32Array(256);
  const ramp = draw(HIGHEST - LOWEST + 1, (ctx, width) => drawRamp(ctx, palette, width));
  colors.set(pixelsOf(ramp), LOWEST);
  const patterns = new Map();
  for (const mark of MARKS) {
    const tile = draw(TILE * SHARP, (ctx, size) => {
      ctx.fillStyle = color(`--data-${mark.id}`);
      ctx.fillRect(0, 0, size, size);
      [colors[mark.code]] = pixelsOf(ctx);
      if (mark.glyph) drawGlyph(ctx, mark, size / 2, size / 2, size);
      else drawHatch(ctx, mark, size);
    });
    const pattern = tile.createPattern(tile.canvas, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / SHARP));
    patterns.set(mark, pattern);
  }
  return { colors, patterns };
}

function draw(size, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = size;
  canvas.height = size;
  const ctx = canvas.getContext("2d");
  paint(ctx, size);
  return ctx;
}

function pixelsOf(ctx) {
  return new Uint32Array(ctx.getImageData(0, 0, ctx.canvas.width, 1).data.buffer);
}

function drawHatch(ctx, mark, size) {
  ctx.strokeStyle = color(mark.ink);
  ctx.lineWidth = SHARP;
  for (const shift of [-size, 0, size]) {
    ctx.moveTo(shift - 2, size + 2);
    ctx.lineTo(shift + size + 2, -2);
  }
  ctx.stroke();
}

function drawGlyph(ctx, mark, x, y, size) {
  ctx.fillStyle = color(mark.ink);
  ctx.font = `700 ${Math.min(size, 16)}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(mark.glyph, x, y);
}

/** Fill the start of a line with the palette. */
export function drawRamp(ctx, palette, width) {
  const gradient = ctx.createLinearGradient(0, 0, width, 0);
  palette.forEach((stop, index) => gradient.addColorStop(index / (palette.length - 1), stop));
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, width, width);
}

/** Fill a rectangle with a mark: one glyph in its middle if it has room, else a pattern. */
export function drawMark(ctx, mark, { patterns }, x, y, width, height) {
  const single = mark.glyph && Math.min(width, height) >= 10;
  ctx.fillStyle = single ? color(`--data-${mark.id}`) : patterns.get(mark);
  ctx.fillRect(x, y, width, height);
  if (single) drawGlyph(ctx, mark, x + width / 2, y + height / 2, Math.min(width, height) - 3);
}
