"""What an observer is told of a training, and the facts that it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from hookcli.report.rows.events import number
from hookcli.report.training import ScriptFact
from hookcli.training.observed_script import ObservedScript
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import name_of
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_MOST = 200  # facts of one kind that are kept
_LOOKED_AT = frozenset(
    {1, 2, 3, *(times * 10**power for times in (1, 3) for power in range(1, 12))}
)


@dataclass(slots=True)
class _Fact:
    """A fact that is counted."""

    kind: str
    target: str
    place: str | None
    record: Record | None
    step: int | None
    values: dict[str, Any] = field(default_factory=dict)
    count: int = 0


class FactCounts:
    """The facts that observers have found; equal ones are counted."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str, str | None], _Fact] = {}
        self.looks: Counter[str] = Counter()

    def look(self, *kinds: str) -> None:
        """Note that there was something to look at, for facts of these kinds."""
        for kind in kinds:
            self.looks[kind] += 1

    def add(
        self,
        kind: str,
        target: str,
        place: str | None,
        *,
        record: Record | None = None,
        step: int | None = None,
        **values: Any,
    ) -> None:
        """Count a fact; the values are those of the last time."""
        key = kind, target, place
        fact = self._facts.get(key)
        if fact is None:
            if sum(known == kind for known, *_ in self._facts) >= _MOST:
                return
            fact = self._facts[key] = _Fact(kind, target, place, record, step)
        fact.count += 1
        fact.values.update(values)

    def forget(self, kinds: Sequence[str]) -> None:
        """Forget the facts of these kinds: it is not known whether they are all."""
        self._facts = {key: fact for key, fact in self._facts.items() if key[0] not in kinds}

    def rows(self) -> tuple[ScriptFact, ...]:
        """Return the facts as plain data, in which NaN and infinities are strings."""
        return tuple(
            ScriptFact(
                fact.kind,
                fact.target,
                fact.place,
                None if fact.record is None else fact.record.name or None,
                fact.step,
                fact.count,
                {name: _plain(value) for name, value in fact.values.items()},
            )
            for fact in self._facts.values()
        )


def _plain(value: Any) -> Any:
    """Return a value as strict JSON can hold it."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(_plain(inner) for inner in value)
    return value


class Observer:
    """One kind of fact. What an observer does not define, it is not told.

    `before` and `after` name the functions of PyTorch, as `WATCHED` in torch_calls.py does, with
    the methods that get their calls. One that `is_always_told` is told of the steps that are not
    watched, too, and of its calls between them.
    """

    kinds: tuple[str, ...] = ()
    before: dict[str, str] = {}  # noqa: RUF012  # each subclass has its own
    after: dict[str, str] = {}  # noqa: RUF012
    is_always_told = False
    is_dropped = False  # after an error of hookcli's own

    def __init__(self, facts: FactCounts, seen: ObservedScript) -> None:
        self.facts, self.seen = facts, seen

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note that an optimizer is being constructed; it has no parameters yet."""

    def forward(self) -> None:
        """Note that a forward of a root begins, with gradients."""

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note that an optimizer steps: the gradients are those that it uses."""

    def references(self, optimizer: Any) -> int:
        """Return how many references to an optimizer this has, itself or in what only it refers to.

        The script has dropped an optimizer if all references are hookcli's.
        """
        return 0

    def let_go_of(self, optimizer: Any) -> None:
        """Forget an optimizer that the script has dropped; add what is known of it."""

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget a root that the script has dropped, and its records; add what is known of them.

        The root and its parameters are there until this returns.
        """

    def finish(self) -> None:
        """Add what is known at the end of the script."""

    # What several observers need.

    def record_of(self, parameters: set[int]) -> Record | None:
        """Return the record whose optimizer holds one of these parameters."""
        for record in self.seen.records:
            if any(id(p) in parameters for p in record.own):
                return record
        return None

    def name_of_parameters(self, parameters: set[int], frame: FrameType | None = None) -> str:
        """Return the name of the root that has all of these parameters; "" if there is none."""
        for root in self.seen.roots.values():
            if parameters and parameters <= root.parameter_ids():
                return root.name
        return ""


def overrides(observer: Observer, method: str) -> bool:
    """Return whether an observer defines a method itself."""
    return getattr(type(observer), method) is not getattr(Observer, method)


def methods(observers: Sequence[Observer], name: str) -> tuple[Callable[..., None], ...]:
    """Return a method of all observers that define it."""
    return tuple(getattr(one, name) for one in observers if overrides(one, name))


def variable_of(value: Any, frame: FrameType | None) -> str | None:
    """Return the variable or attribute of the script that has this value."""
    return name_of(value, frame)


def line_of(call: TorchCall) -> tuple[str, int] | None:
    """Return the line of the script that makes a call; it is searched for once."""
    if call.line is None:
        frame = user_frame(call.frame)
        if frame is not None:
            call.line = frame.f_code.co_filename, frame.f_lineno
    return call.line


def is_looked_at(count: int) -> bool:
    """Return whether a call is looked at: the first three, the 10th, 30th, 100th, 300th, ..."""
    return count in _LOOKED_AT


class LookSchedule:
    """Decides which calls of a line are looked at: fewer and fewer, as `is_looked_at` says."""

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}

    def is_due(self, line: Any) -> bool:
        """Count a call of a line; return whether it is looked at."""
        count = self._counts.get(line, 0) + 1
        self._counts[line] = count
        return is_looked_at(count)
