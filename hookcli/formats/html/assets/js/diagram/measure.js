/** How wide the texts of the diagram are, measured in its fonts: those of css/diagram.css. */

const FONTS = { name: ["600 12px", "--mono"], type: ["11px", "--sans"], label: ["10px", "--mono"] };

const known = new Map();
let context = null;

/** Return the width of a text in px; `font` is "name", "type" or "label". */
export function widthOf(text, font) {
  const key = `${font} ${text}`;
  if (!known.has(key)) known.set(key, Math.ceil(contextFor(font).measureText(text).width));
  return known.get(key);
}

function contextFor(font) {
  context ??= document.createElement("canvas").getContext("2d");
  const [size, family] = FONTS[font];
  context.font = `${size} ${getComputedStyle(document.documentElement).getPropertyValue(family)}`;
  return context;
}
