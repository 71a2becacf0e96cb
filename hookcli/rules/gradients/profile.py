"""The size of gradients over the depth of a model: how it changes from layer to layer.

The size of a gradient is its root mean square, norm / sqrt(numel), which does not depend on the
size of the layer. There are two profiles. That of the weights (parameters of two or more
dimensions) tells what an optimizer sees. That of the biases tells how the gradient with respect to
the outputs of layers changes, since the gradient of a bias is the sum of these over the batch: with
weights that are too large or too small, the activations change by the same factor in the opposite
direction, so the gradients of the weights hide it (Glorot & Bengio 2010, equations 6 and 7).
Some gradients of biases are sums that cancel, up to rounding. If a norm subtracts the mean over
samples, those of all linear layers in front of it may: biases are not judged. Others, as those of
the keys of an attention, lie decades below their neighbours, so no step from one layer to the next
counts as more than `_STEP` decades, and nearly all steps must go in one direction.

A module that calls others has no place in this order: its own parameters may be used before or
after them. They are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import median
from typing import TypeAlias

from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.rules.select import owner

_STEP = 1.5  # decades
_FLOOR = 1e-46  # below the smallest subnormal number of float32; stands for a gradient of zero
_UNDERFLOW = 1e-30  # if sizes this small occur, a gradient of zero may have underflowed
_CENTRING = ("BatchNorm", "InstanceNorm", "SyncBatchNorm")  # how the names of these types begin
_LOOKUP = ("Embedding", "EmbeddingBag")  # the gradient of a table is zero where nothing was read

Line: TypeAlias = tuple[float, ...]


def power_of_ten(decades: float) -> float:
    """Return 10**decades, at least 1e-307 and at most 1e307, which floats and inverses can hold."""
    return float(10.0 ** max(-307.0, min(decades, 307.0)))


@dataclass(frozen=True)
class Profile:
    """The sizes of gradients, from the first layer of the forward pass to the last.

    `what` is "weights" or "biases". A size of zero occurs only next to sizes that are nearly zero:
    other gradients of zero have another cause.
    """

    what: str
    names: tuple[str, ...]
    sizes: tuple[float, ...]

    @cached_property
    def logs(self) -> Line:
        """The decadic logarithms of the sizes; those of biases with limited steps."""
        logs = [math.log10(max(size, _FLOOR)) for size in self.sizes]
        if self.what == "weights" or not logs:
            return tuple(logs)
        steps = (max(-_STEP, min(_STEP, after - before)) for before, after in pairwise(logs))
        return tuple(accumulate(steps, initial=logs[0]))

    @property
    def fall(self) -> float:
        """By how many decades the first quarter lies below the last; medians of both."""
        logs, quarter = self.logs, max(1, len(self.sizes) // 4)
        return median(logs[-quarter:]) - median(logs[:quarter])

    @property
    def trend(self) -> float:
        """The rank correlation of size and depth (Spearman's), from -1 to 1."""
        return _spearman(self.logs)

    @property
    def steady(self) -> float:
        """The share of steps from one layer to the next that go in the direction of the fall."""
        up = sum(after > before for before, after in pairwise(self.sizes))
        steps = max(1, len(self.sizes) - 1)
        return up / steps if self.fall > 0 else 1 - up / steps

    def per_layer(self, first: int, last: int) -> float:
        """Return the mean factor from one layer to the one before it, between two layers."""
        logs = self.logs
        return power_of_ten((logs[first] - logs[last]) / max(1, last - first))

    def start(self, *, falls: bool) -> int:
        """Return the layer before which all are more than tenfold smaller, or larger."""
        quarter = self.logs[-max(1, len(self.sizes) // 4) :]
        if falls:
            return next(i for i, log in enumerate(self.logs) if log >= max(quarter) - 1)
        return next(i for i, log in enumerate(self.logs) if log <= min(quarter) + 1)


def profiles(report: Report) -> tuple[Profile, ...]:
    """Return the profiles of weights and of biases, in the order of the forward pass."""
    first: dict[str, LayerRow] = {}
    for row in report.layers:
        for name in (row.name, *row.aliases):
            if name is not None:
                first.setdefault(name, row)
    callers = {row.parent for row in report.layers if row.parent is not None}
    weights: list[tuple[int, str, float]] = []
    for parameter in report.parameters:
        module = owner(parameter.name)
        size = _size(parameter)
        if size is None or module not in first or len(parameter.shape) < 2:
            continue
        if parameter.module_type in _LOOKUP or first[module].order in callers:
            continue
        weights.append((first[module].order, parameter.name, size))
    with_weight = {owner(name) for _, name, _ in weights}
    biases = [
        (first[owner(row.name)].order, row.name, size)
        for row in report.parameters
        if len(row.shape) == 1
        and owner(row.name) in with_weight
        and "bias" in row.name.rpartition(".")[2]
        and (size := _size(row)) is not None
    ]
    if any(row.type.startswith(_CENTRING) for row in report.layers):
        biases = []
    return (_profile("weights", weights), _profile("biases", biases))


def _profile(what: str, rows: Sequence[tuple[int, str, float]]) -> Profile:
    least = min((size for *_, size in rows if size), default=math.inf)
    kept = (row for row in rows if row[2] or least < _UNDERFLOW)
    ordered = sorted(kept, key=lambda row: row[0])
    return Profile(
        what, tuple(owner(name) for _, name, _ in ordered), tuple(size for *_, size in ordered)
    )


def _size(row: ParameterRow) -> float | None:
    """Return the root mean square of a gradient; None if there is none, or it is not finite."""
    norm = (row.grad or {}).get("norm")
    if row.status not in {"ok", "zero"} or not isinstance(norm, int | float) or not row.numel:
        return None
    return float(norm) / math.sqrt(row.numel)


def _ranks(values: Line) -> list[float]:
    """Return the rank of each value; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in order[i:j]:
            ranks[k] = (i + j - 1) / 2
        i = j
    return ranks


def _spearman(values: Line) -> float:
    ranks, count = _ranks(values), len(values)
    mean = (count - 1) / 2
    over = sum((i - mean) * (rank - mean) for i, rank in enumerate(ranks))
    spread = math.sqrt(
        sum((i - mean) ** 2 for i in range(count)) * sum((rank - mean) ** 2 for rank in ranks)
    )
    return over / spread if spread else 0.0
