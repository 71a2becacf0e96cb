"""How to show a report. A view never changes what was run, nor the JSON."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

from hookcli.console import escape
from hookcli.errors import RequestError
from hookcli.formats.names import DEFAULT_COLUMNS, columns_of, sorts_of
from hookcli.report.report import LayerRow, Report
from hookcli.rules.verdict import FailOn


@dataclass(frozen=True, slots=True)
class View:
    """What to show, in how many columns. `only` is a glob on qualified names.

    `columns` as they stand by default means those of the report's command. `phase` and `kinds`
    pick the events of a trace.
    """

    width: int = 120
    unicode: bool = True
    color: bool = False
    depth: int | None = None
    only: str | None = None
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    sort: str | None = None
    phase: str | None = None
    kinds: tuple[str, ...] | None = None
    fail_on: FailOn = "error"  # the findings that make a check FAILED
    exit_status: int | None = None  # of the command; only the command line knows it
    root: str = ""  # the absolute folder that files are named from, or "" for none
    start: str = ""  # the absolute folder that relative places are meant from

    @property
    def asked(self) -> tuple[str, ...] | None:
        """The columns that were asked for, or None."""
        return None if self.columns == DEFAULT_COLUMNS else self.columns

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


def check_view(report: Report, view: View) -> None:
    """Check that the report's command has what the view names.

    Raises
    ------
    RequestError : it has no such column, or cannot be sorted so.
    """
    command = report.command
    for name in view.asked or ():
        if name not in columns_of(command):
            raise RequestError(
                f"a report of {escape(command)} has no column '{escape(name)}'",
                place=f"--columns {','.join(view.columns)}",
                hint=f"its columns are {', '.join(columns_of(command))}",
            )
    if view.sort is not None and view.sort not in sorts_of(command):
        raise RequestError(
            f"a report of {escape(command)} cannot be sorted by {escape(view.sort)}",
            place=f"--sort {view.sort}",
            hint=f"it can be sorted by {', '.join(sorts_of(command))}",
        )
