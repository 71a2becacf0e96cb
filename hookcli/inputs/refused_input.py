"""What to do about a layer that refuses its input: the size that it takes, and a batch that fits.

The messages of torch name the sizes that clash, each layer in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hookcli.report.report import Origin
from hookcli.report.values import Leaf, Shape

# How torch says which size a layer takes: the sizes, the dimension from the end for a weight of
# this many dimensions, and the noun.
_SIZES = (
    (r"to have (?P<takes>\d+) channels?, but got (?P<got>\d+) channels", None, "channel"),
    (r"running_mean should contain (?P<got>\d+) elements not (?P<takes>\d+)", 1, "channel"),
    (r"match num_features \((?P<takes>\d+)\), but got: (?P<got>\d+)", 1, "channel"),
    (r"shapes cannot be multiplied \(\d+x(?P<got>\d+) and (?P<takes>\d+)x", -1, "feature"),
    (r"normalized_shape=\[(?P<takes>\d+)\].*[\[ ](?P<got>\d+)\]$", -1, "feature"),
    (r"equal to input_size\. Expected (?P<takes>\d+), got (?P<got>\d+)", -1, "feature"),
    (r"inconsistent input_size: got (?P<got>\d+),? expected (?P<takes>\d+)", -1, "feature"),
    (r"embedding dimension of (?P<takes>\d+), but got (?P<got>\d+)", -1, "feature"),
)
_NOT_INTEGERS = re.compile(r"argument #1 'indices' to have one of the following scalar types: Long")
_OUT_OF_RANGE = re.compile(
    r"index out of range in self|Expected i < index_size to be true|which is not in the valid range"
)
_NOT_FLOATS = re.compile(
    r"must have the same dtype, but got (?:Long|Int|Byte|Bool) and"
    r"|Input type \((?:long int|int|short|signed char|unsigned char|bool)\) and \w+ type"
)


@dataclass(frozen=True, slots=True)
class RefusedInput:
    """A call of a layer that raised: its name, the shape of its weight, and what it got.

    `batch` is what the model got; `is_one` if that is one tensor, as the flag `-i SPEC` gives it.
    `origin` is where it comes from.
    """

    layer: str
    weight: Shape | None
    inputs: Sequence[Leaf]
    batch: Sequence[Leaf]
    is_one: bool
    origin: Origin = "given"

    def hint(self, message: str) -> str | None:
        """Return what the layer takes and which batch fits; None if the message is not known."""
        shape = self.inputs[0].shape
        if _NOT_FLOATS.search(message):
            return self._advice("takes floats", _typed(shape))
        if _NOT_INTEGERS.search(message) or _OUT_OF_RANGE.search(message):
            if self.weight is None or len(self.weight) != 2:
                return None
            rows = self.weight[0]
            ids = f"{_typed(shape)}:int64:0..{rows}"
            return self._advice(f"takes integers below {rows}", ids)
        for pattern, axis, noun in _SIZES:
            if match := re.search(pattern, message):
                return self._of_size(int(match["takes"]), int(match["got"]), axis, noun)
        return None

    def _of_size(self, takes: int, got: int, axis: int | None, noun: str) -> str | None:
        shape = list(self.inputs[0].shape)
        if axis is None:  # channels, with or without a dimension of samples before them
            axis = 1 - len(self.weight or shape)
        if not -len(shape) <= axis < len(shape) or shape[axis] != got or takes == got:
            return None  # another operand is the one that does not fit
        shape[axis] = takes
        return self._advice(f"takes {takes} {noun}{'s' * (takes != 1)}, not {got}", _typed(shape))

    def _advice(self, what: str, fitting: str) -> str:
        shape = self.inputs[0].shape
        alike = sum(leaf.shape == shape for leaf in self.batch)
        if alike and self.is_one:
            place = "" if self.origin == "given" else f" in place of the {self.origin} batch"
            return f"try `-i {fitting}`{place}: '{self.layer}' {what}"
        if alike:
            return (
                f"pass {fitting} instead of {_typed(shape)} with `--input`: '{self.layer}' {what}"
            )
        return f"pass another batch with `--input`, or change '{self.layer}', which {what}"


def _typed(shape: Sequence[int | None]) -> str:
    """Return a shape as --input takes it."""
    return "x".join(map(str, shape))
