"""Match the records of two trainings: by name, else by the types of root and optimizer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo

Matched: TypeAlias = Literal["name", "type", "root", "rest"]


@dataclass(frozen=True, slots=True)
class RecordPair:
    """A record of A and its counterpart in B, or one of the two alone."""

    a: Report | None
    b: Report | None
    matched: Matched | None


def _optimizer(info: TrainingInfo) -> str | None:
    return None if info.optimizer is None else info.optimizer.type


_KEYS: tuple[tuple[Matched, Callable[[TrainingInfo], Hashable]], ...] = (
    ("name", lambda info: info.record),
    ("type", lambda info: (info.root_type, _optimizer(info))),
    ("root", lambda info: info.root_type),
    ("rest", lambda info: None),
)


def pair_records(a: Sequence[Report], b: Sequence[Report]) -> list[RecordPair]:
    """Return the pairs in A's order, then the records that are only in B.

    Each way of matching applies only to keys that one record on each side has, except for names:
    two generators of one type are not confused.
    """
    ours, theirs = list(a), list(b)
    found: dict[int, tuple[Report, Matched]] = {}
    for how, key in _KEYS:
        keys_a, keys_b = _by_key(ours, key), _by_key(theirs, key)
        for value, rows in keys_a.items():
            others = keys_b.get(value, [])
            if len(rows) == len(others) == 1:
                found[id(rows[0])] = (others[0], how)
        taken = {id(report) for report, _ in found.values()}
        ours = [report for report in ours if id(report) not in found]
        theirs = [report for report in theirs if id(report) not in taken]
    pairs = [
        RecordPair(report, *found[id(report)])
        if id(report) in found
        else RecordPair(report, None, None)
        for report in a
    ]
    return pairs + [RecordPair(None, report, None) for report in theirs]


def _by_key(
    reports: Sequence[Report], key: Callable[[TrainingInfo], Hashable]
) -> dict[Hashable, list[Report]]:
    groups: dict[Hashable, list[Report]] = {}
    for report in reports:
        if report.training is not None:
            groups.setdefault(key(report.training), []).append(report)
    return groups
