"""Histograms of parameters, gradients and values, rebuilt from the figures of a report.

A report has no counts by value, but a tensor's number of elements, minimum, maximum, mean, standard
deviation and zeros. Many distributions have these figures. The one that assumes nothing else is
that of maximum entropy: on each bucket exp(a x + b x²), with a and b such that mean and deviation
are the tensor's own (Jaynes 1957). It is uniform for figures of a uniform distribution, and normal
for those of a normal one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from hookcli.formats.tensorboard.scalars import first_step, last_step, step_of, tag
from hookcli.report.report import Report

_CORE = 4.0  # standard deviations around the mean that get narrow buckets
_BUCKETS = 24  # narrow buckets
_TAIL = 4  # wider buckets on each side of them
_ROUNDS = 30  # of Newton's method
_CLOSE = 1e-9  # the error of the moments, in standard deviations, at which it ends
_SHORTEST = 1e-9  # the share of a step that is too short to go on
_NEAR = 0.05  # the largest error that is accepted
_NARROW = 5e-7  # half the width of a bucket for one value, as a share of the range


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram as TensorBoard has it: `limits` are the right edges of the buckets.

    `count`, `min`, `max`, `sum` and `sum_squares` are the tensor's own; `counts` are rebuilt.
    """

    count: int
    min: float
    max: float
    sum: float
    sum_squares: float
    limits: tuple[float, ...]
    counts: tuple[float, ...]


Labelled: TypeAlias = tuple[str, int, Histogram]


def histograms(report: Report) -> Iterator[Labelled]:
    """Yield (tag, step, histogram) of each tensor whose figures are known."""
    first, last = first_step(report), last_step(report)
    for row in report.parameters:
        steps = row.steps or ({"grad": row.grad},)
        for index, figures in enumerate(steps):
            step = step_of(figures, index)
            yield from _labelled(tag("gradients", row.name), step, figures.get("grad"))
        yield from _labelled(tag("weights", row.name), last, row.stats)
    for layer in report.layers:
        name = f"({layer.type})" if layer.name is None else layer.name
        for leaf in layer.outputs:
            at = f"{name}{leaf.path}"
            yield from _labelled(tag("outputs", at, layer.call), first, leaf.stats)
            yield from _labelled(tag("output gradients", at, layer.call), first, leaf.grad)


def _labelled(label: str, step: int, figures: Mapping[str, Any] | None) -> Iterator[Labelled]:
    histogram = None if figures is None else rebuild(figures)
    if histogram is not None:
        yield label, step, histogram


def rebuild(figures: Mapping[str, Any]) -> Histogram | None:
    """Return the histogram of the finite elements, or None if a figure of them is not known."""
    finite = figures.get("finite") or figures
    numel = figures.get("numel")
    low, high, mean = (_number(finite.get(name)) for name in ("min", "max", "mean"))
    if not numel or low is None or high is None or mean is None:
        return None
    count = numel - (figures.get("nans") or 0) - (figures.get("infs") or 0)
    deviation = 0.0 if count == 1 else _number(finite.get("std"))
    if count < 1 or deviation is None or not low <= mean <= high:
        return None
    squares = deviation * deviation * (count - 1) + count * mean * mean
    if not math.isfinite(squares):
        return None
    zeros = min(figures.get("zeros") or 0, count) if low <= 0 <= high else 0
    edges, counts = _buckets(low, high, count, zeros, count * mean, squares)
    return Histogram(count, low, high, count * mean, squares, tuple(edges[1:]), tuple(counts))


def _number(value: object) -> float | None:
    """Return a known figure; those that are not finite are strings in a report."""
    return float(value) if isinstance(value, int | float) else None


def _buckets(
    low: float, high: float, count: int, zeros: int, total: float, squares: float
) -> tuple[list[float], list[float]]:
    """Return the edges and the counts; zeros have a bucket of their own."""
    rest = count - zeros
    if high <= low or not rest:
        return [low, high], [float(count)]
    mean = min(max(total / rest, low), high)
    variance = squares / rest - mean**2
    edges = _edges(low, high, mean, math.sqrt(max(variance, 0.0)))
    counts = [rest * share for share in _shares(edges, mean, variance)]
    return _with_zeros(edges, counts, zeros) if zeros else (edges, counts)


def _edges(low: float, high: float, mean: float, deviation: float) -> list[float]:
    """Return edges: narrow buckets around the mean, and wider ones from there to the extremes."""
    core = max(_CORE * deviation, (high - low) * _NARROW)
    left, right = max(low, mean - core), min(high, mean + core)
    edges = [low + (left - low) * i / _TAIL for i in range(_TAIL)]
    edges += [left + (right - left) * i / _BUCKETS for i in range(_BUCKETS)]
    edges += [right + (high - right) * i / _TAIL for i in range(_TAIL)]
    return [*sorted({edge for edge in edges if low <= edge < high}), high]


def _shares(edges: Sequence[float], mean: float, variance: float) -> list[float]:
    """Return the share of each bucket in the distribution of maximum entropy.

    If none on these buckets has the mean and the variance, the shares have the mean only.
    """
    low, high = edges[0], edges[-1]
    at = min(bisect_right(edges, mean), len(edges) - 1) - 1
    one_value = [float(i == at) for i in range(len(edges) - 1)]
    narrow = (high - low) * _NARROW
    if variance <= narrow * narrow:
        return one_value
    scale = math.sqrt(variance)
    shares = _maximum_entropy([(edge - mean) / scale for edge in edges])
    if shares is not None:
        return shares
    if not low < mean < high:  # by rounding: nearly all values are at one end
        return one_value
    below = (high - mean) / (high - low)  # uniform below the mean, and uniform above it
    return [
        below * _overlap(a, b, low, mean) + (1 - below) * _overlap(a, b, mean, high)
        for a, b in pairwise(edges)
    ]


def _overlap(a: float, b: float, low: float, high: float) -> float:
    """Return the share of the interval from `low` to `high` that lies between `a` and `b`."""
    return max(min(b, high) - max(a, low), 0.0) / (high - low)


def _maximum_entropy(edges: Sequence[float]) -> list[float] | None:
    """Return shares with the mean 0 and the mean square 1, by Newton's method; None if it fails."""
    pairs = [*pairwise(edges)]
    features = [((a + b) / 2, (a * a + a * b + b * b) / 3) for a, b in pairs]
    widths = [math.log(b - a) for a, b in pairs]
    slope, curve = 0.0, -0.5
    shares, dual = _exponential(features, widths, slope, curve)
    for _ in range(_ROUNDS):
        first = sum(p * x for p, (x, _) in zip(shares, features, strict=True))
        second = sum(p * y for p, (_, y) in zip(shares, features, strict=True))
        if abs(first) + abs(second - 1) < _CLOSE:
            return shares
        step = _newton(shares, features, first, second)
        if step is None:
            break
        size = 1.0
        while size > _SHORTEST:  # the dual is convex: a step that is short enough makes it smaller
            a, b = slope + size * step[0], curve + size * step[1]
            trial, lower = _exponential(features, widths, a, b)
            if lower < dual:
                break
            size /= 2
        else:
            break
        slope, curve, shares, dual = a, b, trial, lower
    first = sum(p * x for p, (x, _) in zip(shares, features, strict=True))
    second = sum(p * y for p, (_, y) in zip(shares, features, strict=True))
    return shares if abs(first) + abs(second - 1) < _NEAR else None


def _exponential(
    features: Sequence[tuple[float, float]], widths: Sequence[float], slope: float, curve: float
) -> tuple[list[float], float]:
    """Return the shares of an exponential distribution, and the dual: log of the sum - target."""
    logs = [w + slope * x + curve * y for w, (x, y) in zip(widths, features, strict=True)]
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    whole = sum(weights)
    return [weight / whole for weight in weights], top + math.log(whole) - curve


def _newton(
    shares: Sequence[float],
    features: Sequence[tuple[float, float]],
    first: float,
    second: float,
) -> tuple[float, float] | None:
    """Return the step of Newton's method towards the mean 0 and the mean square 1."""
    xx = xy = yy = 0.0
    for share, (x, y) in zip(shares, features, strict=True):
        dx, dy = x - first, y - second
        xx, xy, yy = xx + share * dx * dx, xy + share * dx * dy, yy + share * dy * dy
    determinant = xx * yy - xy * xy
    if determinant <= 0 or not math.isfinite(determinant):
        return None
    dx, dy = -first, 1 - second
    return (yy * dx - xy * dy) / determinant, (xx * dy - xy * dx) / determinant


def _with_zeros(
    edges: Sequence[float], counts: Sequence[float], zeros: int
) -> tuple[list[float], list[float]]:
    """Return the buckets with a narrow one around zero, which contains the zeros."""
    half = (edges[-1] - edges[0]) * _NARROW
    left, right = max(-half, edges[0]), min(half, edges[-1])
    buckets: dict[tuple[float, float], float] = {(left, right): float(zeros)}
    for (a, b), count in zip(pairwise(edges), counts, strict=True):
        parts = [(s, e) for s, e in ((a, min(b, left)), (max(a, right), b)) if e > s]
        width = sum(end - start for start, end in parts)
        for start, end in parts:
            buckets[start, end] = count * (end - start) / width
        if not parts:  # the bucket is a part of the one for zeros
            buckets[left, right] += count
    inner = sorted(buckets)
    return [inner[0][0], *(end for _, end in inner)], [buckets[bucket] for bucket in inner]
