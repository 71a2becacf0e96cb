"""Finds labels that overlap or are cut, by the boxes that the browser gives them."""

from __future__ import annotations

from playwright.sync_api import Page

# In the diagram at 100 %: sentences about texts that overlap each other, a button or another box,
# that reach beyond their own box, or beyond the drawing.
_DIAGRAM = """() => {
  const host = document.querySelector(".diagram");
  const group = host.querySelector(":scope > g");
  const moved = group.getAttribute("transform");
  group.removeAttribute("transform");
  const rect = (node) => {
    const { left, top, right, bottom } = node.getBoundingClientRect();
    return { left, top, right, bottom };
  };
  const over = (a, b, by = 0.5) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > by &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const inside = (a, b, by = 0.5) => a.left >= b.left - by && a.right <= b.right + by &&
    a.top >= b.top - by && a.bottom <= b.bottom + by;
  const written = (node) => [...node.childNodes].filter(({ nodeName }) => nodeName !== "title")
    .map(({ textContent }) => textContent).join("");
  const texts = [...group.querySelectorAll("text")]
    .map((node) => ({ node, text: written(node), own: node.parentNode, ...rect(node) }))
    .filter(({ text }) => text);
  const wrong = [];
  texts.forEach((a, index) => {
    for (const b of texts.slice(index + 1)) {
      if (over(a, b)) wrong.push(`'${a.text}' and '${b.text}' overlap`);
    }
  });
  const buttons = [...group.querySelectorAll(".toggle rect")].map(rect);
  const shapes = ".box:not(.open) > .frame, .operator > rect, .terminal > rect";
  const closed = [...group.querySelectorAll(shapes)]
    .map((node) => ({ own: node.parentNode, ...rect(node) }));
  for (const text of texts) {
    if (buttons.some((button) => over(text, button))) wrong.push(`a button covers '${text.text}'`);
    const frame = text.own.querySelector(":scope > .frame, :scope > rect");
    const isBeside = text.own.matches("[aria-hidden]") || text.node.matches(".mark");
    if (!isBeside && !inside(text, rect(frame))) wrong.push(`'${text.text}' leaves its box`);
    for (const other of closed) {
      if (other.own !== text.own && over(text, other, 1)) wrong.push(`a box covers '${text.text}'`);
    }
  }
  if (moved) group.setAttribute("transform", moved);
  return { texts: texts.map(({ text }) => text), wrong };
}"""

# In grids: cells and headers whose text is wider than they are and has no ellipsis.
_CUT_CELLS = """() => [...document.querySelectorAll(".grid-cell")]
  .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth)
  .map((cell) => cell.innerText)"""

# Elements with a frame of their own and nothing in it. A canvas and the parts of a picture are
# something.
_EMPTY = """() => [...document.querySelectorAll("header *, main *")].filter((node) => {
  if (!node.checkVisibility() || node.closest("svg, button, select, canvas, .diagram-chip")) {
    return false;
  }
  const style = getComputedStyle(node);
  const framed = ["Top", "Right", "Bottom", "Left"].every((side) =>
    parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none");
  const filled = node.innerText.trim() || node.matches("input") ||
    node.querySelector("canvas, svg, input");
  return framed && !filled;
}).map((node) => node.outerHTML.slice(0, 200))"""


def in_diagram(page: Page) -> tuple[list[str], list[str]]:
    """Return the labels of the diagram, and sentences about what is wrong with them."""
    found = page.evaluate(_DIAGRAM)
    return found["texts"], found["wrong"]


def cut_cells(page: Page) -> list[str]:
    """Return the texts of cells of grids that are wider than the cell and have no ellipsis."""
    return page.evaluate(_CUT_CELLS)


def empty_boxes(page: Page) -> list[str]:
    """Return the elements with a frame and no content."""
    return page.evaluate(_EMPTY)
