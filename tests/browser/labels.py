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

# In tables: cells whose text is wider than the cell and ends without a sign that it goes on.
_CUT_CELLS = """(selector) => [...document.querySelectorAll(selector)]
  .filter((cell) => cell.checkVisibility() && cell.innerText.trim())
  .filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const { clientWidth } = cell;
    const { paddingLeft } = getComputedStyle(cell);
    const left = cell.getBoundingClientRect().left;
    return range.getBoundingClientRect().right - left > clientWidth + 0.5 ||
      range.getBoundingClientRect().left < left + parseFloat(paddingLeft) - 1;
  })
  .map((cell) => cell.innerText)"""


def in_diagram(page: Page) -> tuple[list[str], list[str]]:
    """Return the labels of the diagram, and sentences about what is wrong with them."""
    found = page.evaluate(_DIAGRAM)
    return found["texts"], found["wrong"]


def cut_cells(page: Page, selector: str) -> list[str]:
    """Return the texts of the cells of a selector that are wider than the cell."""
    return page.evaluate(_CUT_CELLS, selector)
