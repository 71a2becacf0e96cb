"""Reads a treegrid as assistive technology does: by its roles and ARIA attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

_ROW = """
const CELLS = "[role=rowheader], [role=gridcell]";
function read(row) {
  const number = (name) => row.hasAttribute(name) ? Number(row.getAttribute(name)) : null;
  return {
    text: (row.querySelector(CELLS) ?? row).textContent.trim(),
    cells: [...row.querySelectorAll(CELLS)].map((cell) => cell.textContent.trim()),
    level: number("aria-level"), size: number("aria-setsize"), position: number("aria-posinset"),
    index: number("aria-rowindex"),
    expanded: row.getAttribute("aria-expanded"), selected: row.getAttribute("aria-selected"),
  };
}
"""
_CURRENT = (
    "(grid) => {"
    + _ROW
    + """
  const active = document.activeElement;
  const id = active.getAttribute("aria-activedescendant");
  const row = id ? document.getElementById(id) : active.closest("[role=row]");
  return row && grid.contains(row) ? read(row) : null;
}"""
)
_ROWS = (
    "(grid) => {"
    + _ROW
    + """
  return [...grid.querySelectorAll("[role=row]:not([hidden])")]
    .filter((row) => row.querySelector(CELLS)).map(read);
}"""
)


@dataclass(frozen=True)
class Row:
    """One row: its cells, and its ARIA attributes (None: it has none)."""

    text: str  # of its first cell
    cells: list[str]
    level: int | None
    size: int | None
    position: int | None
    index: int | None
    expanded: str | None
    selected: str | None


class Grid:
    """The treegrid of the panel that is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.element = page.locator("[role=treegrid]:visible, [role=grid]:visible").first

    def rows(self) -> list[Row]:
        """Return the rows that are in the document: those in view, and some around them."""
        return [Row(**row) for row in self.element.evaluate(_ROWS)]

    def current(self) -> Row | None:
        """Return the row that has the focus, None if none has."""
        row = self.element.evaluate(_CURRENT)
        return row and Row(**row)

    def press(self, *keys: str) -> Row | None:
        """Press keys one after another; return the row that has the focus then."""
        for key in keys:
            self.page.keyboard.press(key)
        return self.current()
