"""Two sizes that must be equal and are not, as an error names them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hookcli.inputs.infer.repair_by_layer import sizes_of
from hookcli.inputs.infer.trial import Trial

_PAIRS = tuple(
    re.compile(pattern)
    for pattern in (  # the actual size, then the expected one
        r"\(\d+x(?P<actual>\d+) and (?P<expected>\d+)x\d+\)",
        r"got \[[\d, ]*?(?P<actual>\d+)\] X \[(?P<expected>\d+)[\d, ]*\]",
        r"tensor a \((?P<actual>\d+)\) must match the size of tensor b \((?P<expected>\d+)\)",
        r"tensor \((?P<actual>\d+)\) must match the existing size \((?P<expected>\d+)\)",
        r"embedding dimension of (?P<expected>\d+), but got (?P<actual>\d+)",
        r"Expected (?:size )?(?P<expected>\d+) (?:in dimension \d+ )?but got (?:size )?"
        r"(?P<actual>\d+)",
        r"first two dimensions of batch2 tensor to be: \[\d+, (?P<expected>\d+)\] "
        r"but got: \[\d+, (?P<actual>\d+)\]",
        r"has size (?P<actual>\d+) for operand \d+ which does not broadcast with previously seen "
        r"size (?P<expected>\d+)",
        r"got (?P<actual>\d+), expected (?P<expected>\d+)",
        r"[Ee]xpected input\[[\d, ]+\] to have (?P<expected>\d+) channels, but got (?P<actual>\d+)",
    )
)
_BROADCAST = re.compile(
    r"length (?P<length>\d+) at (?P<axis>-\d+)!.*Size\(\[(?P<own>[\d, ]*)\]\).*broadcastable to "
    r"\[(?P<other>[\d, ]+)\]",
    re.DOTALL,
)
_VIEW = re.compile(r"[Ss]hape '?\[([-\d, ]+)\]'? is invalid for input of size (\d+)")
_BRACKETS = re.compile(r"[\[(](\d[\d, ]*)[\])]")
_SPLIT = re.compile(r"sum exactly to (\d+).*got split_sizes=\[([\d, ]+)\]")


@dataclass(frozen=True, slots=True)
class Clash:
    """A size that is `actual` where `expected` is needed; `where` says what needs it."""

    expected: int
    actual: int
    where: str

    @property
    def reason(self) -> str:
        """The clash in words."""
        return f"{self.where} expects {self.expected}, got {self.actual}"


def numbers(text: str) -> list[int]:
    """Return the integers of a list in a message."""
    return [int(number) for number in re.findall(r"-?\d+", text)]


def clash_of(trial: Trial, batch: int) -> Clash | None:
    """Return the two sizes that the trial's error names, or None. A `view(-1, …)` keeps `batch`."""
    for expected, actual in _named(trial, batch):
        if expected != actual and expected > 0:
            where = trial.failed.name if trial.failed is not None else _place(trial)
            return Clash(expected, actual, where or "a layer")
    return None


def _place(trial: Trial) -> str:
    return f"line {trial.line.number}" if trial.line.number else "the model"


def _named(trial: Trial, batch: int) -> Iterator[tuple[int, int]]:
    message = trial.error
    if match := _BROADCAST.search(message):
        own, other = numbers(match["own"]), numbers(match["other"])
        axis = int(match["axis"])
        if len(own) >= -axis and len(other) >= -axis:
            yield own[axis], other[axis]
    if match := _VIEW.search(message):
        sizes = numbers(match[1])
        fixed = math.prod(size for size in sizes if size > 0)
        free = batch if sizes and sizes[0] < 0 else 1
        yield fixed * free, int(match[2])
    if match := _SPLIT.search(message):
        yield sum(numbers(match[2])), int(match[1])
    for pattern in _PAIRS:
        if match := pattern.search(message):
            yield int(match["expected"]), int(match["actual"])
    if trial.failed is not None:
        yield from sizes_of(trial.failed)
    for actual, expected in trial.line.compared:
        yield expected, actual


def factors(message: str, product: int) -> list[tuple[int, int]]:
    """Return neighbouring sizes in the message whose product is `product`: a hard-coded grid."""
    pairs = []
    for listed in _BRACKETS.findall(message):
        sizes = numbers(listed)
        pairs += [(a, b) for a, b in pairwise(sizes) if a * b == product]
    return pairs
