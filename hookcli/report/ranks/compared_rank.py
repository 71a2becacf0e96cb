"""What is compared of one rank, and which of several ranks has another value."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeAlias

from hookcli.report.distributed import StepDigests
from hookcli.report.steps import StepRow, TrainingInfo

Key: TypeAlias = tuple[Hashable, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ComparedRank:
    """What is compared of one rank. `keys` tell of each parameter which ranks have the same one."""

    info: TrainingInfo
    keys: dict[str, Key]
    steps: dict[int, StepRow]
    digests: StepDigests | None


def odd_ones(values: Mapping[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield each rank whose value differs from that of most ranks, with one of those."""
    counts = Counter(values.values())
    if len(counts) < 2:
        return
    usual, _ = counts.most_common(1)[0]  # the value of the lowest rank, if several are as frequent
    other = next(rank for rank, value in values.items() if value == usual)
    for rank, value in values.items():
        if value != usual:
            yield rank, other


def common_steps(ranks: Mapping[int, ComparedRank]) -> list[int]:
    """Return the steps that all ranks have a row of."""
    return sorted(set.intersection(*(set(one.steps) for one in ranks.values())))
