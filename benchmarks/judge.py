"""What a tool said, held against what a sample's file works out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from benchmarks.looks import Said, Shape, Shown


@dataclass(frozen=True)
class Verdict:
    """Texts for the table's cells; None where the tool does not tell."""

    parameters: str | None
    calls: str | None
    inputs: str | None
    outputs: str | None
    macs: str | None


def judge(said: Said, expected: dict[str, Any], macs: int, names: dict[str, str]) -> Verdict:
    """`names` maps each name of a shared module to its first."""
    truth = expected["calls"]
    sizes = (said.parameters, said.trainable)
    wanted = (expected["parameters"], expected["trainable_parameters"])
    parameters = None if sizes == (None, None) else _right(sizes == wanted, sizes, wanted)
    counted = None if said.macs is None else _right(said.macs == macs, (said.macs,), (macs,))
    if said.calls is None:
        return Verdict(parameters, None, None, None, counted)
    found = matched(said.calls, truth, names)
    return Verdict(
        parameters,
        _part(sum(one is not None for one in found), len(truth)),
        _part(_agreeing(found, truth, 4, lambda one: one.inputs), len(truth)),
        _part(_agreeing(found, truth, 5, lambda one: one.outputs), len(truth)),
        counted,
    )


def _right(right: bool, said: tuple, wanted: tuple) -> str:
    if right:
        return "right"
    return next(f"**{a:,}**, expected {b:,}" for a, b in zip(said, wanted, strict=True) if a != b)


def _part(count: int, whole: int) -> str:
    return f"all {whole}" if count == whole else f"**{count}** of {whole}"


def matched(
    calls: Sequence[Shown], truth: Sequence[tuple], names: dict[str, str]
) -> list[Shown | None]:
    """For each call that happened, the row that shows it."""
    if any(one.name is not None for one in calls):
        rows = {
            (names.get(one.name, one.name), one.type, one.index): one for one in reversed(calls)
        }
        return [rows.get((call[0], call[1], call[2])) for call in truth]
    found: list[Shown | None] = [None] * len(truth)
    types = [one.type for one in calls], [call[1] for call in truth]
    for a, b, size in SequenceMatcher(None, *types, autojunk=False).get_matching_blocks():
        found[b : b + size] = calls[a : a + size]
    return found


def _agreeing(
    found: Sequence[Shown | None],
    truth: Sequence[tuple],
    place: int,
    shapes: Callable[[Shown], list[Shape]],
) -> int:
    pairs = zip(found, truth, strict=True)
    return sum(
        one is not None and same(shapes(one), [shape for _, shape in call[place]])
        for one, call in pairs
    )


def same(got: Sequence[Shape], want: Sequence[Shape]) -> bool:
    """All shapes, in any order; None in the truth is a size that depends on the data."""
    if not any(None in shape for shape in want):
        return sorted(got) == sorted(want)
    return len(got) == len(want) and all(
        len(a) == len(b) and all(y is None or x == y for x, y in zip(a, b, strict=True))
        for a, b in zip(got, want, strict=True)
    )
