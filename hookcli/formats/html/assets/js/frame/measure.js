/** How wide texts are, measured in the fonts of the page: see css/diagram.css and css/grid.css. */

const FONTS = {
  name: ["600 12px", "--mono"], type: ["11px", "--sans"], label: ["10px", "--mono"],
  cell: ["13.1px", "--sans"], bold: ["600 13.1px", "--sans"], figures: ["12px", "--mono"],
};
const MEASURED = 40; // of many texts, the longest

const known = new Map();
let context = null;

/** Return the width of a text in px; `font` is a name of FONTS. */
export function widthOf(text, font) {
  const key = `${font} ${text}`;
  if (!known.has(key)) known.set(key, Math.ceil(contextFor(font).measureText(text).width));
  return known.get(key);
}

/** Return the width of the widest of some texts, null among them. */
export function widest(texts, font) {
  const longest = texts.filter(Boolean).sort((a, b) => b.length - a.length).slice(0, MEASURED);
  return Math.max(0, ...longest.map((text) => widthOf(text, font)));
}

function contextFor(font) {
  context ??= document.createElement("canvas").getContext("2d");
  const [size, family] = FONTS[font];
  context.font = `${size} ${getComputedStyle(document.documentElement).getPropertyValue(family)}`;
  return context;
}
