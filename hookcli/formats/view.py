"""How to show a report. A view changes neither the run nor the JSON."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

from hookcli.console import escape
from hookcli.errors import RequestError
from hookcli.formats.names import DEFAULT_COLUMNS, TRAINING, columns_of, common, sorts_of
from hookcli.formats.order import Ordered, ordered, sort_key
from hookcli.formats.results import Result
from hookcli.report.report import LayerRow, Report
from hookcli.report.training import TrainingReport
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.rules.verdict import FailOn
from hookcli.text import listed_hint

_ENDLESS = 5  # levels that are shown of a recursion without end


@dataclass(frozen=True, slots=True)
class View:
    """What to show, and how wide. `only` is a glob on qualified names.

    The default of `columns` means the default columns of the report's command. `sort` is the name
    of a column, with a minus before it for the reverse order. `phase` and `kinds` select events of
    a trace.
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
    only_findings: bool = False  # documents of a training have its findings, as check shows them
    exit_status: int | None = None  # of the command, if the command line renders
    root: str = ""  # the absolute folder that paths are relative to, or ""
    start: str = ""  # the absolute folder that relative places start from
    reload: int | None = None  # seconds after which a page loads itself again, as it is rewritten

    @property
    def asked(self) -> tuple[str, ...] | None:
        """The columns that the user chose, or None."""
        return None if self.columns == DEFAULT_COLUMNS else self.columns

    def levels(self, report: Report) -> int | None:
        """Return the depth of the calls that a tree shows; None for all of them.

        Of calls that did not end, by default the first: the others repeat them.
        """
        endless = report.error is not None and report.error.type == "RecursionError"
        return _ENDLESS if self.depth is None and endless else self.depth

    def flat(self) -> bool:
        """Return whether rows are a flat list, not a tree of callers."""
        return self.only is not None or self.sort is not None


def shown_rows(report: Report, view: View) -> Ordered[LayerRow]:
    """Return the rows of the view, in its order."""
    rows = [
        row
        for row in report.layers
        if (view.depth is None or row.depth <= view.depth)
        and (view.only is None or fnmatch.fnmatchcase(row.name or "", view.only))
    ]
    if view.sort is None:
        return Ordered(rows)
    key = sort_key(view.sort)
    return ordered(rows, view.sort, _KEYS[key], words=key in {"name", "type"})


_KEYS: dict[str, Callable[[LayerRow], object]] = {
    "order": lambda row: row.order,
    "params": lambda row: row.parameters,
    "own": lambda row: row.own_parameters,
    "trainable": lambda row: row.trainable_parameters,
    "macs": lambda row: row.macs,
    "flops": lambda row: row.flops,
    "saved": lambda row: row.memory and row.memory.saved_bytes,
    "peak": lambda row: row.memory and row.memory.peak_bytes,
    "backward_peak": lambda row: row.memory and row.memory.backward_peak_bytes,
    "name": lambda row: row.name or "",
    "type": lambda row: row.type,
    "call": lambda row: row.call,
}


def check_view(result: Result, view: View) -> None:
    """Check that a result supports the columns and the sort key of the view; a diff has none.

    Raises
    ------
    RequestError : a column or the sort key is unknown.
    """
    commands = _commands(result)
    if not commands or (view.asked is None and view.sort is None):
        return
    known = {name: None for command in commands for name in columns_of(command)}
    for name in view.asked or ():
        if name not in known:
            raise RequestError(
                f"unknown column '{escape(name)}' of {escape(commands[0])}",
                place=f"--columns {','.join(view.columns)}",
                hint=listed_hint(name, known, common(known)),
            )
    sorts = tuple(dict.fromkeys(name for command in commands for name in sorts_of(command)))
    if view.sort is not None and sort_key(view.sort) not in sorts:
        raise RequestError(
            f"a report of {escape(commands[0])} cannot be sorted by "
            f"'{escape(sort_key(view.sort))}'",
            place=f"--sort {view.sort}",
            hint=listed_hint(sort_key(view.sort), sorts, common(sorts)),
        )


def _commands(result: Result) -> tuple[str, ...]:
    """Return the command of a report; of a training also those that observed its records."""
    if isinstance(result, Report):
        return (result.command,)
    if isinstance(result, TrainingReport):
        return (TRAINING, *dict.fromkeys(record.command for record in result.records))
    return ("weights",) if isinstance(result, WeightsReport) else ()
