"""What a cause explains: the findings of a report, and a sentence for those of one cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from hookcli.report.findings import CheckRow
from hookcli.report.report import ParameterRow, Report
from hookcli.rules.select import modules_above, owner


@dataclass(frozen=True)
class Facts:
    """A report, and the findings that are not explained yet, in the report's order."""

    report: Report
    rows: tuple[CheckRow, ...]

    def of(self, *rules: str) -> list[CheckRow]:
        """Return the findings of these rules."""
        return [row for row in self.rows if row.rule in rules]

    @cached_property
    def names(self) -> set[str]:
        """The names of all layers and parameters."""
        rows = self.report.layers
        layers = {name for row in rows for name in (row.name, *row.aliases) if name}
        return layers | {row.name for row in self.report.parameters}

    @cached_property
    def order(self) -> dict[str, int]:
        """The position of each parameter in the forward pass: the end of its module's first call.

        Parameters whose module has no call of its own follow the parameter before them.
        """
        positions, last = {}, 0
        for parameter in self.report.parameters:
            last = self.ends.get(owner(parameter.name), last)
            positions[parameter.name] = last
        return positions

    @cached_property
    def ends(self) -> dict[str, int]:
        """The position at which the first call of each module ends."""
        ends = {row.order: row.order for row in self.report.layers}
        for row in reversed(self.report.layers):  # a call ends after those that it makes
            if row.parent in ends:
                ends[row.parent] = max(ends[row.parent], ends[row.order])
        called: dict[str, int] = {}
        for row in self.report.layers:
            for name in (row.name, *row.aliases):
                if name is not None:
                    called.setdefault(name, ends[row.order])
        return called

    def below(self, module: str, status: str) -> list[ParameterRow]:
        """Return the parameters at or below a module whose gradient has this status."""
        return self._below.get((module, status), [])

    @cached_property
    def _below(self) -> dict[tuple[str, str | None], list[ParameterRow]]:
        """The parameters at or below each module, by status: a search for each would be slow."""
        below: dict[tuple[str, str | None], list[ParameterRow]] = {}
        for row in self.report.parameters:
            for module in modules_above(row.name):
                below.setdefault((module, row.status), []).append(row)
        return below


@dataclass(frozen=True, slots=True)
class Found:
    """A cause with its sentence, and the findings that it explains, the most telling one first.

    With `is_note` it is no problem, whatever the severity of the findings.
    """

    cause: str
    sentence: str
    target: str
    rows: tuple[CheckRow, ...]
    advice: str | None = None
    place: str | None = None
    is_note: bool = False


Cause: TypeAlias = Callable[[Facts], Iterator[Found]]
