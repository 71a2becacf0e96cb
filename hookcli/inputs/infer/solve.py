"""Find the size that ends a clash, by probing how the two sizes follow from a dimension.

A flattened feature map, a positional grid or a hard-coded `view` needs one size of the input, and
the way from one to the other leads through layers that nobody has to understand: trials with two
sizes tell the direction, and bisection the rest. An image that cannot be square is solved from
three squares: with c·f(h)·f(w) + k features, their differences give c, f and k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hookcli.inputs.infer.clash import Clash, clash_of, factors
from hookcli.inputs.infer.knobs import Knob, knobs, rounded
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import Hypothesis, changes

Attempt: TypeAlias = Callable[[Hypothesis, str, Trial], "Trial | None"]
_MOST_STEPS = 24  # trials of one bisection
_MOST_GRIDS = 5


@dataclass(slots=True)
class Solver:
    """Solves one clash. `attempt` returns None if no trial is left or the batch is too large."""

    failure: Trial
    clash: Clash
    attempt: Attempt
    batch: int
    fixed: frozenset[str]
    gaps: dict[Hypothesis, int | None] = field(default_factory=dict)
    passed: dict[Hypothesis, Trial] = field(default_factory=dict)

    def solve(self) -> Iterator[Trial]:
        """Yield trials that got past the clash, at most one for each knob."""
        for knob in knobs(self.failure.hypothesis, self.fixed):
            solved = self._turned(knob)
            if solved is not None:
                yield solved

    def _gap(self, hypothesis: Hypothesis) -> int | None:
        """The actual size minus the expected one; 0 if it got past, None if it failed before."""
        if hypothesis not in self.gaps:
            before = self.failure.hypothesis
            why = f"{changes(before, hypothesis)}: {self.clash.reason}"
            trial = self.attempt(hypothesis, why, self.failure)
            self.gaps[hypothesis] = None
            if trial is not None and trial.ran and not trial.keeps_samples(self.batch):
                # By chance: a view gave as many rows as fit.
                expected, rows = self.clash.expected, trial.outputs[0][0]
                self.gaps[hypothesis] = expected * rows // self.batch - expected
            elif trial is not None and trial.passes(self.failure):
                self.gaps[hypothesis] = 0
                self.passed[hypothesis] = trial
            elif trial is not None and trial.key == self.failure.key:
                clash = clash_of(trial, self.batch)
                self.gaps[hypothesis] = None if clash is None else clash.actual - clash.expected
        return self.gaps[hypothesis]

    def _turned(self, knob: Knob) -> Trial | None:
        base = self.failure.hypothesis
        gap = self.clash.actual - self.clash.expected
        self.gaps[base] = gap

        tried: dict[int, int | None] = {knob.size: gap}

        def at(size: int) -> int | None:
            tried[size] = self._gap(knob.set(base, size))
            return tried[size]

        probe = 2 * knob.size
        doubled = at(probe) if probe <= knob.most else None
        if doubled is None:
            probe = knob.size // 2
            doubled = at(probe) if probe else None
        if doubled == gap or doubled is None:
            return None
        ends = (
            _bracket(at, (knob.size, gap), (probe, doubled), knob.most)
            if doubled
            else (probe, probe)
        )
        if ends is None:
            return None
        low, high = _bisected(at, *ends)
        for size in (low, high):
            if at(size) == 0:
                below = max((s for s in tried if s < size and tried[s] != 0), default=0)
                above = min((s for s in tried if s > size and tried[s] != 0), default=size)
                nice = next((s for s in rounded(below, above) if at(s) == 0), size)
                return self.passed[knob.set(base, nice)]
        if knob.is_image:
            return self._oblong(knob, high)
        return self._shared(knob, low) if len(knob.paths) > 1 else None

    def _shared(self, knob: Knob, size: int) -> Trial | None:
        """Inputs that are concatenated: all have this size, the first one has the rest."""
        equal = knob.set(self.failure.hypothesis, size)
        rest = self._gap(equal)
        if not rest or rest > 0:
            return None
        changed = Knob(knob.paths[:1], knob.axes, size, knob.most).set(equal, size - rest)
        return self.passed[changed] if self._gap(changed) == 0 else None

    def _oblong(self, knob: Knob, start: int) -> Trial | None:
        """No square fits: an image h x w. `start` is the side where the features grow past it."""
        base = self.failure.hypothesis

        def square(side: int) -> int | None:
            return self._gap(knob.set(base, side))

        here = square(start)
        below = square(start - 1)
        stride = _stride(square, start, knob.most)
        above = square(start + stride) if stride else None
        if here is None or below is None or above is None or not stride:
            return None
        scale, odd = divmod(above - 2 * here + below, 2)
        if not scale or odd or (above - below) % (4 * scale):
            return None
        steps = (above - below) // (4 * scale)  # f(start), the side of the feature map
        product, rest = divmod(scale * steps * steps - here, scale)
        if rest or product <= 0:
            return None
        for rows, columns in [*factors(self.failure.error, product), *_grids(product)]:
            height = start + (rows - steps) * stride
            width = start + (columns - steps) * stride
            solved = self._image(knob, height, width, stride)
            if solved is not None:
                return solved
        return None

    def _image(self, knob: Knob, height: int, width: int, stride: int) -> Trial | None:
        if not (0 < height <= knob.most and 0 < width <= knob.most):
            return None
        base = self.failure.hypothesis
        rows, columns = knob.side(0), knob.side(1)
        exact = columns.set(rows.set(base, height), width)
        if self._gap(exact) != 0:
            return None
        tall = next(iter(rounded(height - 1, height + stride)), height)
        wide = next(iter(rounded(width - 1, width + stride)), width)
        nicer = columns.set(rows.set(base, tall), wide)
        return self.passed[nicer if self._gap(nicer) == 0 else exact]


def _grids(product: int) -> list[tuple[int, int]]:
    """Factors of a number, the squarest first."""
    pairs = [(a, product // a) for a in range(math.isqrt(product), 0, -1) if product % a == 0]
    return pairs[:_MOST_GRIDS]


def _stride(at: Callable[[int], int | None], start: int, most: int) -> int:
    """How many pixels one more feature needs; `start` is the first side that has its features."""
    low, high = 0, 1
    while start + high <= most and at(start + high) == at(start):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(start + middle) == at(start) else (low, middle)
    return high if start + high <= most else 0


def _bracket(
    at: Callable[[int], int | None], first: tuple[int, int], second: tuple[int, int], most: int
) -> tuple[int, int] | None:
    """Return two sizes, the smaller first, between which the gap changes its sign."""
    guess = round(first[0] - first[1] * (second[0] - first[0]) / (second[1] - first[1]))
    if guess <= 0:  # a power of the size would have a root: this is a sum, and no part is enough
        return None
    if guess <= most and at(guess) == 0:
        return guess, guess
    (a, gap_a), (b, gap_b) = sorted((first, second))
    for _ in range(_MOST_STEPS):
        if gap_a * gap_b <= 0:
            return a, b
        if abs(gap_b) < abs(gap_a):  # upwards
            a, gap_a, b = b, gap_b, 2 * b
            value = at(b) if b <= most else None
            if value is None:
                return None
            gap_b = value
        else:
            b, gap_b, a = a, gap_a, a // 2
            if not a:
                return None
            value = at(a)
            gap_a = -gap_b if value is None else value  # too small for a layer before it
    return None


def _bisected(at: Callable[[int], int | None], low: int, high: int) -> tuple[int, int]:
    """Return neighbouring sizes, or a size at which the gap is 0 twice."""
    for end in (low, high):
        if end and at(end) == 0:
            return end, end
    rising = (at(high) or 0) > 0
    while high - low > 1:
        middle = (low + high) // 2
        gap = at(middle)
        if gap == 0:
            return middle, middle
        if gap is None or (gap < 0) == rising:  # too small for a layer before, or below
            low = middle
        else:
            high = middle
    return max(low, 1), high
