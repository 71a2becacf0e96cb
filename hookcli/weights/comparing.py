"""Compares two files of weights: which tensors were changed, renamed, reshaped, added, removed."""

from __future__ import annotations

import fnmatch
import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from hookcli.report.values import Number
from hookcli.report.weights.weights_diff import (
    WEIGHTS_DIFF_SCHEMA,
    WeightsChange,
    WeightsDiff,
    WeightsDiffTotals,
    WeightsGroup,
    WeightsSide,
    WeightsStatus,
)
from hookcli.text import counted
from hookcli.weights.difference import Difference, compare_values, digest
from hookcli.weights.figures import known
from hookcli.weights.inspection import environment
from hookcli.weights.stored import StoredTensor, StoredWeights
from hookcli.weights.values import Reader

Tolerance: TypeAlias = Sequence[tuple[str, float]]

_FINE = {"same", "close", "renamed"}
_ORDER: dict[str, int] = {
    "unknown": 0, "removed": 1, "added": 2, "reshaped": 3, "changed": 4, "close": 5, "renamed": 6,
    "same": 7,
}  # fmt: skip


def compare(a: StoredWeights, b: StoredWeights, tolerance: Tolerance = ()) -> WeightsDiff:
    """Return the comparison of two files of weights. Two tensors are in memory at a time.

    `tolerance` has pairs of a glob and the largest relative difference of names that match it; the
    last that matches counts, and without one all elements must be equal.

    Raises
    ------
    OSError, ValueError : a file changed or cannot be read.
    """
    begun = time.perf_counter()
    notes = [*(f"A: {note}" for note in a.notes), *(f"B: {note}" for note in b.notes)]
    ours, theirs = (
        {tensor.name: tensor for tensor in tensors} for tensors in _compared(a, b, notes)
    )
    ours, theirs = _without_prefixes(ours, theirs, notes)
    rows = []
    with Reader() as reader, Reader() as other:
        for name, tensor in ours.items():
            if name in theirs:
                rows.append(_pair(tensor, theirs[name], tolerance, (reader, other)))
        gone = [tensor for name, tensor in ours.items() if name not in theirs]
        new = [tensor for name, tensor in theirs.items() if name not in ours]
        rows += _unpaired(gone, new, (reader, other))
    rows.sort(key=_position)
    totals = _totals(rows)
    fine = all(row.status in _FINE for row in rows)
    return WeightsDiff(
        schema=WEIGHTS_DIFF_SCHEMA,
        environment=environment(time.perf_counter() - begun),
        a=_side(a),
        b=_side(b),
        tolerance=tuple(tolerance),
        verdict="same" if fine else "different",
        totals=totals,
        groups=_groups(rows),
        rows=tuple(rows),
        warnings=tuple(notes),
    )


def _compared(
    a: StoredWeights, b: StoredWeights, notes: list[str]
) -> tuple[list[StoredTensor], list[StoredTensor]]:
    """Return the tensors to compare: without the state of an optimizer that only one side has."""
    sides = (a.tensors, b.tensors)
    counts = [sum(tensor.part == "optimizer" for tensor in tensors) for tensors in sides]
    if all(counts) or not any(counts):
        return sides
    name, count = ("A", counts[0]) if counts[0] else ("B", counts[1])
    notes.append(f"{counted(count, 'tensor')} of the optimizer's state in {name} not compared")
    ours, theirs = ([tensor for tensor in side if tensor.part == "weights"] for side in sides)
    return ours, theirs


_Named: TypeAlias = dict[str, StoredTensor]


def _without_prefixes(ours: _Named, theirs: _Named, notes: list[str]) -> tuple[_Named, _Named]:
    """Return both by names that fit: without a prefix that all names of one side have, if any."""
    if not ours.keys() & theirs.keys():
        for name, short, long in (("B", ours, theirs), ("A", theirs, ours)):
            prefix = _prefix(short, long)
            if not prefix:
                continue
            notes.append(f"names in {name} are compared without their prefix '{prefix}'")
            cut = {key.removeprefix(prefix): tensor for key, tensor in long.items()}
            return (short, cut) if name == "B" else (cut, short)
    return ours, theirs


def _prefix(short: _Named, long: _Named) -> str:
    """Return the prefix with which most names of one side are names of the other; "" if none."""
    first = next(iter(short), "")
    ends = [key for key in long if key.endswith(f".{first}")]
    prefixes = Counter(
        {
            key[: -len(first)]: sum(f"{key[: -len(first)]}{name}" in long for name in short)
            for key in ends[:_MOST_PREFIXES]
        }
    )
    prefix, count = next(iter(prefixes.most_common(1)), ("", 0))
    return prefix if first and 2 * count >= len(short) else ""


_MOST_PREFIXES = 8  # that are tried


def _side(weights: StoredWeights) -> WeightsSide:
    return WeightsSide(
        weights.source,
        weights.format,
        len(weights.tensors),
        sum(tensor.size for tensor in weights.tensors),
    )


def _position(row: WeightsChange) -> tuple[int, float]:
    return _ORDER[row.status], -float(row.relative or 0.0)


def _pair(
    a: StoredTensor, b: StoredTensor, tolerance: Tolerance, readers: tuple[Reader, Reader]
) -> WeightsChange:
    """Return how a tensor changed that A and B have under one name."""
    if a.shape != b.shape:
        return _change(a, b, "reshaped")
    why = a.unread or b.unread
    if a.values is None or b.values is None:
        return _change(a, b, "unknown", why=why or "its values cannot be read")
    found = compare_values(a, b, readers)
    limit = _limit(a.name, tolerance)
    status: WeightsStatus = (
        "same" if not found.differing else "close" if found.relative <= limit else "changed"
    )
    return _change(a, b, status, found)


def _limit(name: str, tolerance: Tolerance) -> float:
    for glob, rtol in reversed(tolerance):
        if fnmatch.fnmatchcase(name, glob):
            return rtol
    return -1.0


def _change(
    a: StoredTensor | None,
    b: StoredTensor | None,
    status: WeightsStatus,
    found: Difference | None = None,
    why: str = "",
) -> WeightsChange:
    one = a if a is not None else b
    if one is None:
        raise ValueError("a change without a tensor in A or in B")
    figures = {}
    if found is not None:
        figures = {
            "relative": known(found.relative),
            "largest": "inf" if found.non_finite else known(found.largest),
            "difference": known(found.difference),
            "norm": known(found.norm),
        }
    return WeightsChange(
        a=None if a is None else a.name,
        b=None if b is None else b.name,
        status=status,
        shapes=(None if a is None else a.shape, None if b is None else b.shape),
        dtypes=(None if a is None else a.dtype, None if b is None else b.dtype),
        part=one.part,
        numel=one.numel,
        differing=None if found is None else found.differing,
        non_finite=None if found is None else found.non_finite,
        why=why or None,
        **figures,
    )


def _unpaired(
    gone: Sequence[StoredTensor], new: Sequence[StoredTensor], readers: tuple[Reader, Reader]
) -> list[WeightsChange]:
    """Return the tensors that only A or only B has; those with equal values were renamed."""
    shapes = {tensor.shape for tensor in gone} & {tensor.shape for tensor in new}
    candidates: defaultdict[bytes, list[StoredTensor]] = defaultdict(list)
    for tensor in new:
        if tensor.shape in shapes and tensor.values is not None:
            candidates[digest(tensor, readers[1])].append(tensor)
    rows, taken = [], set()
    for tensor in gone:
        match = None
        if candidates and tensor.shape in shapes and tensor.values is not None:
            equal = candidates.get(digest(tensor, readers[0]), [])
            match = max(equal, key=lambda one: _alike(tensor.name, one.name), default=None)
            if match is not None:
                equal.remove(match)
        if match is None:
            rows.append(_change(tensor, None, "removed"))
        else:
            taken.add(match.name)
            rows.append(_change(tensor, match, "renamed", Difference()))
    rows += [_change(None, tensor, "added") for tensor in new if tensor.name not in taken]
    return rows


def _alike(name: str, other: str) -> tuple[int, int]:
    """Return how many parts two names have in common at their ends, and which numbers."""
    ours, theirs = name.split("."), other.split(".")
    ends = 0
    for part, its in zip(reversed(ours), reversed(theirs), strict=False):
        if part != its:
            break
        ends += 1
    numbers = [part for part in ours if part.isdigit()] == [p for p in theirs if p.isdigit()]
    return int(numbers), ends


def _totals(rows: Sequence[WeightsChange]) -> WeightsDiffTotals:
    counts = Counter(row.status for row in rows)
    relative, largest = _together(rows)
    return WeightsDiffTotals(
        same=counts["same"],
        close=counts["close"],
        changed=counts["changed"],
        renamed=counts["renamed"],
        reshaped=counts["reshaped"],
        added=counts["added"],
        removed=counts["removed"],
        unknown=counts["unknown"],
        other_dtype=sum(None not in row.dtypes and row.dtypes[0] != row.dtypes[1] for row in rows),
        relative=relative,
        largest=largest,
    )


_Figure: TypeAlias = Number | None


def _together(rows: Sequence[WeightsChange]) -> tuple[_Figure, _Figure]:
    """Return the relative difference of several tensors together, and the largest of an element.

    None if none of them was compared.
    """
    compared = [row for row in rows if row.difference is not None and row.status != "renamed"]
    if not compared:
        return None, None
    if any(row.non_finite for row in compared):
        return "inf", "inf"
    difference = math.hypot(*(float(row.difference or 0) for row in compared))
    norm = math.hypot(*(float(row.norm or 0) for row in compared))
    relative = 0.0 if not difference else difference / norm if norm else math.inf
    return known(relative), known(max(float(row.largest or 0) for row in compared))


def _groups(rows: Sequence[WeightsChange]) -> tuple[WeightsGroup, ...]:
    """Return the layers with tensors that were compared, the largest relative change first."""
    below: defaultdict[str, list[WeightsChange]] = defaultdict(list)
    for row in rows:
        if row.a is not None and row.difference is not None and row.status != "renamed":
            below[layer_of(row.a)].append(row)
    made = []
    for name, group in below.items():
        relative, largest = _together(group)
        changed = sum(row.status == "changed" for row in group)
        made.append(WeightsGroup(name, len(group), changed, relative, largest))
    made.sort(key=lambda group: -float(group.relative or 0.0))
    return tuple(made)


def layer_of(name: str) -> str:
    """Return the layer of a tensor: its name up to the first number, else without its last part."""
    parts = name.split(".")
    for at, part in enumerate(parts[:-1]):
        if part.isdigit():
            return ".".join(parts[: at + 1])
    return ".".join(parts[:-1]) or name
