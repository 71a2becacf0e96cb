"""How to show a report. A view changes neither the run nor the JSON."""

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
    """What to show, and how wide. `only` is a glob on qualified names.

    The default of `columns` means the default columns of the report's command. `phase` and `kinds`
    select events of a trace.
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
    exit_status: int | None = None  # of the command, if the command line renders
    root: str = ""  # the absolute folder that paths are relative to, or ""
    start: str = ""  # the absolute folder that relative places start from

    @property
    def asked(self) -> tuple[str, ...] | None:
        """The columns that the user chose, or None."""
        return None if self.columns == DEFAULT_COLUMNS else self.columns

    def flat(self) -> bool:
        """Return whether rows are a flat list, not a tree of callers."""
        return self.only is not None or self.sort is not None


def shown_rows(report: Report, view: View) -> list[LayerRow]:
    """Return the rows of the view, in its order."""
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
    """Check that the report's command supports the columns and the sort key of the view.

    Raises
    ------
    RequestError : a column or the sort key is unknown.
    """
    command = report.command
    for name in view.asked or ():
        if name not in columns_of(command):
            raise RequestError(
                f"unknown column '{escape(name)}' of {escape(command)}",
                place=f"--columns {','.join(view.columns)}",
                hint=f"choose from {', '.join(columns_of(command))}",
            )
    if view.sort is not None and view.sort not in sorts_of(command):
        raise RequestError(
            f"a report of {escape(command)} cannot be sorted by '{escape(view.sort)}'",
            place=f"--sort {view.sort}",
            hint=f"choose from {', '.join(sorts_of(command))}",
        )
