/** Build elements. Text becomes text nodes, so that no name is read as html. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return a new element. In `props`, keys that begin with "on" are listeners, `class` and `text` are
 * what they say, `style` sets properties by name, `data` sets data attributes, and all others are
 * attributes; null and false omit one.
 */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Return a new svg element; see `el`. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.setAttribute("class", value);
    else if (key === "text") node.textContent = value;
    else if (key === "style") {
      for (const [name, setting] of Object.entries(value)) node.style.setProperty(name, setting);
    } else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Return a name as an element that keeps its direction from spreading to its neighbours. */
export function nameElement(text, props = {}) {
  return el("bdi", { class: "name", ...props, text });
}
