"""The sizes of a batch that can be turned: each changes one or several dimensions together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookcli.inputs.infer.sizes import LARGEST, LONGEST, with_size
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import TensorSpec

_NICE = (224, 32, 28, 64, 256, 128, 299, 96, 384, 512, 84, 48, 112, 16, 100, 1000, 8000, 16000)
_STEPS = (1000, 512, 128, 100, 64, 50, 32, 16, 10, 8, 4, 2)


@dataclass(frozen=True, slots=True)
class Knob:
    """Dimensions that get the same size: `axes` of every input in `paths`."""

    paths: tuple[str, ...]
    axes: tuple[int, ...]
    size: int  # in the hypothesis that it was made for
    most: int

    def set(self, hypothesis: Hypothesis, size: int) -> Hypothesis:
        """Return the hypothesis with this size."""
        for path, spec in hypothesis.tensors():
            if path in self.paths and len(spec.shape) > max(self.axes):
                for axis in self.axes:
                    spec = with_size(spec, axis, size)
                hypothesis = hypothesis.with_guess(path, spec)
        return hypothesis

    @property
    def is_image(self) -> bool:
        """Whether it turns the two sides of an image together."""
        return len(self.axes) == 2

    def side(self, axis: int) -> Knob:
        """Return a knob for one of its dimensions."""
        return Knob(self.paths, (self.axes[axis],), self.size, self.most)


def knobs(hypothesis: Hypothesis, fixed: frozenset[str]) -> Iterator[Knob]:
    """Yield the knobs, the likeliest first; inputs of one shape together, then each alone.

    `fixed` are parameters of forward that the user gave.
    """
    tensors = [(p, s) for p, s in hypothesis.tensors() if p.partition("[")[0] not in fixed]
    groups: dict[TensorSpec, list[str]] = {}
    for path, spec in tensors:
        groups.setdefault(TensorSpec(spec.shape), []).append(path)
    parts = [(tuple(paths), spec) for spec, paths in groups.items()]
    parts += [((path,), spec) for path, spec in tensors if len(groups[TensorSpec(spec.shape)]) > 1]
    yield from (knob for paths, spec in parts for knob in _spatial(paths, spec))
    yield from (knob for paths, spec in parts for knob in _single(paths, spec))
    for paths, spec in parts:  # the samples, last: a hard-coded number of them
        yield Knob(paths, (0,), spec.shape[0], LONGEST)


def _spatial(paths: tuple[str, ...], spec: TensorSpec) -> Iterator[Knob]:
    rank = len(spec.shape)
    if rank == 5 and len(set(spec.shape[2:])) == 1:
        yield Knob(paths, (2, 3, 4), spec.shape[-1], 256)
    if rank >= 4:
        yield Knob(paths, (rank - 2, rank - 1), spec.shape[-1], LARGEST)


def _single(paths: tuple[str, ...], spec: TensorSpec) -> Iterator[Knob]:
    for axis in range(len(spec.shape) - 1, 0, -1):
        yield Knob(paths, (axis,), spec.shape[axis], LONGEST)


def rounded(low: int, high: int) -> list[int]:
    """Return sizes between two others, both excluded, that people use: 224, 64, 1000."""
    between = [size for size in _NICE if low < size < high]
    for step in _STEPS:
        first = (low // step + 1) * step
        if first < high and first not in between:
            between.append(first)
    return between[:3]
