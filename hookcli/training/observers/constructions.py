"""How optimizers are constructed: parameters given twice, again in each step, groups that rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.records import Record, parameters_of

_MOST = 256  # lines, and optimizers
_LEAST = 5  # optimizers of one line, or looks at a group


@dataclass(slots=True)
class _Line:
    """The optimizers that one line constructs, one after another, for the same parameters."""

    type: str
    parameter: int | None = None  # id of the first one
    made: int = 0
    steps: int = 0
    is_same: bool = True
    record: Record | None = None


@dataclass(slots=True)
class _Group:
    """A parameter group with a learning rate of 0 at each look, next to others."""

    parameters: int
    names: list[str]
    looks: int = 0


@dataclass(slots=True)
class _Known:
    line: str | None
    has_begun: bool = False
    schedule: LookSchedule = field(default_factory=LookSchedule)
    groups: dict[int, _Group] | None = None


class Constructions(Observer):
    """Looks at the parameters and groups of each optimizer when it steps."""

    kinds = ("duplicate_parameters", "optimizer_again", "resting_group")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines: dict[str | None, _Line] = {}
        self._known: dict[int, _Known] = {}

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note an optimizer, which has no parameters yet."""
        if len(self._lines) < _MOST or place in self._lines:
            self._lines.setdefault(place, _Line(type(optimizer).__name__))
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[id(optimizer)] = _Known(place)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count a step, and look at the groups."""
        known = self._known.get(id(optimizer))
        if known is None:
            return
        line = self._lines[known.line]
        line.steps += 1
        if not known.has_begun:
            known.has_begun = True
            self._begin(optimizer, line, records)
        if len(optimizer.param_groups) > 1 and known.schedule.is_due(None):
            self._look_at_groups(optimizer, known, records)

    def _begin(self, optimizer: Any, line: _Line, records: Sequence[Record]) -> None:
        self.facts.look("duplicate_parameters", "optimizer_again")
        held = parameters_of(optimizer)
        if len({id(p) for p in held}) < len(held):
            twice = (
                {id(p) for p in held if sum(p is q for q in held) > 1} if len(held) < _MOST else ()
            )
            self.facts.add(
                "duplicate_parameters",
                type(optimizer).__name__,
                self._known[id(optimizer)].line,
                record=records[0] if records else None,
                parameters=len(held),
                twice=len(held) - len({id(p) for p in held}),
                of=self.name_of_parameters(set(twice)),
            )
        first = id(held[0]) if held else None
        line.is_same &= line.parameter in (None, first)
        line.parameter, line.made = first, line.made + 1
        line.record = line.record or (records[0] if records else None)
        line.is_same &= any(
            bool(group.get(name))
            for group in optimizer.param_groups[:1]
            for name in ("betas", "momentum")
        )

    def _look_at_groups(self, optimizer: Any, known: _Known, records: Sequence[Record]) -> None:
        self.facts.look("resting_group")
        rates = [float(group.get("lr") or 0) for group in optimizer.param_groups]
        resting = {i for i, rate in enumerate(rates) if rate == 0} if any(rates) else set()
        if known.groups is None:
            names = {id(p.tensor): p.name for one in records for p in one.model.parameters()}
            known.groups = {
                i: _Group(
                    len(group["params"]),
                    [names[id(p)] for p in group["params"] if id(p) in names],
                )
                for i, group in enumerate(optimizer.param_groups)
                if i in resting and any(p.requires_grad for p in group["params"])
            }
        known.groups = {i: group for i, group in known.groups.items() if i in resting}
        for group in known.groups.values():
            group.looks += 1

    def finish(self) -> None:
        """Add the groups that rested at all looks, and lines that construct again and again."""
        for known in self._known.values():
            line = self._lines[known.line]
            for number, group in (known.groups or {}).items():
                if group.looks >= _LEAST:
                    self.facts.add(
                        "resting_group",
                        line.type,
                        known.line,
                        record=line.record,
                        group=number,
                        parameters=group.parameters,
                        names=group.names,
                    )
        for place, line in self._lines.items():
            if line.is_same and line.made >= _LEAST and line.steps == line.made:
                self.facts.add(
                    "optimizer_again", line.type, place, record=line.record, made=line.made
                )
