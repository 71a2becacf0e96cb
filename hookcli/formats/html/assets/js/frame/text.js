/** Write figures as the tables of the command line do. A figure that is not known is a dash. */

const GROUPED = new Intl.NumberFormat("en-US");

/** Return an integer as 1,234,567. */
export function integer(value) {
  return value === null || value === undefined ? "–" : GROUPED.format(value);
}

/** Return a measured number in three or four digits: 0.1234, 1.23e-5, nan. */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e4 && size < 1e5) return value.toFixed(0);
  if (size >= 1e-3 && size < 1e5) return String(Number(value.toPrecision(4)));
  return value.toExponential(2);
}

/** Return a number in a few characters: 1.2k, 3.4M, 5.6G. */
export function short(value) {
  return scaled(value, ["", "k", "M", "G", "T", "P"], "");
}

/** Return bytes in decimal units. */
export function bytes(value) {
  return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"], " ");
}

function scaled(value, units, gap) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? String(rest) : String(Number(rest.toPrecision(3)));
  return units[unit] ? digits + gap + units[unit] : digits;
}

/** Return a count with its noun: 1 layer, 2 layers. */
export function counted(count, noun, plural = `${noun}s`) {
  return `${integer(count)} ${count === 1 ? noun : plural}`;
}

/** Return a name within `width` characters, cut in the middle: its end tells it from others. */
export function cut(text, width) {
  if (text.length <= width) return text;
  const head = Math.floor((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}
