"""How to show a report. A view never changes what was run, nor the JSON."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

from hookcli.formats.names import DEFAULT_COLUMNS
from hookcli.report.model import LayerRow, Report


@dataclass(frozen=True, slots=True)
class View:
    """What to show, in how many columns. `only` is a glob on qualified names."""

    width: int = 120
    unicode: bool = True
    color: bool = False
    depth: int | None = None
    only: str | None = None
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    sort: str | None = None

    def flat(self) -> bool:
        """Whether rows stand by themselves rather than below their callers."""
        return self.only is not None or self.sort is not None


def shown_rows(report: Report, view: View) -> list[LayerRow]:
    """The rows of the view, in the view's order."""
    rows = [
        row
        for row in report.layers
        if (view.depth is None or row.depth <= view.depth)
        and (view.only is None or fnmatch.fnmatchcase(row.name or "", view.only))
    ]
    if view.sort is not None:
        key = _KEYS[view.sort]
        rows.sort(key=lambda row: (-key(row), row.order))
    return rows


_KEYS: dict[str, Callable[[LayerRow], int]] = {
    "order": lambda row: -row.order,
    "params": lambda row: row.parameters or 0,
    "own": lambda row: row.own_parameters or 0,
    "macs": lambda row: row.macs or 0,
    "flops": lambda row: row.flops or 0,
}
SORTS = tuple(_KEYS)
