"""The difference of two stored tensors of one shape, element by element, in float64."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hookcli.weights.dtypes import Array
from hookcli.weights.figures import sum_of_squares
from hookcli.weights.stored import StoredTensor, Values
from hookcli.weights.values import Reader


@dataclass(slots=True)
class Difference:
    """Sums over the elements so far.

    `difference` and `norm` are the 2-norms of B - A and of A over the elements that are finite in
    both, `largest` the largest absolute difference of these. `differing` counts the elements that
    are not equal, and `non_finite` those of them that are not finite in A or in B.
    """

    difference: float = 0.0
    norm: float = 0.0
    largest: float = 0.0
    differing: int = 0
    non_finite: int = 0

    @property
    def relative(self) -> float:
        """The difference relative to the norm of A; infinite if A is zero and B is not."""
        if self.non_finite:
            return math.inf
        if not self.difference:
            return 0.0
        return self.difference / self.norm if self.norm else math.inf

    def add(self, a: Array, b: Array) -> None:
        """Add the difference of two arrays of one length."""
        a, b = _numbers(a, b)
        equal = a == b
        if not equal.all():
            equal |= np.isnan(a) & np.isnan(b)
        else:
            self.norm = math.hypot(self.norm, _norm(a[np.isfinite(a)] if _odd(a) else a))
            return
        self.differing += int(equal.size - np.count_nonzero(equal))
        if _odd(a) or _odd(b):
            finite = np.isfinite(a) & np.isfinite(b)
            self.non_finite += int(np.count_nonzero(~finite & ~equal))
            a, b = a[finite], b[finite]
        if not a.size:
            return
        self.norm = math.hypot(self.norm, _norm(a))
        with np.errstate(over="ignore"):
            moved = np.abs(b - a)
        self.largest = max(self.largest, float(moved.max()))
        self.difference = math.hypot(self.difference, _norm(moved))


def _odd(values: Array) -> bool:
    """Whether some value is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not bool(np.isfinite(values.sum())) and not bool(np.isfinite(values).all())


def _numbers(a: Array, b: Array) -> tuple[Array, Array]:
    """Return both as float64, or as complex128."""
    kind = np.complex128 if "c" in {a.dtype.kind, b.dtype.kind} else np.float64
    return a.astype(kind, copy=False), b.astype(kind, copy=False)


def _norm(values: Array) -> float:
    """Return the 2-norm, also where the squares leave the range of float64."""
    moduli = np.abs(values) if values.dtype.kind == "c" else values
    if not moduli.size:
        return 0.0
    largest = max(abs(float(moduli.max())), abs(float(moduli.min())))
    if largest == 0 or not math.isfinite(largest):
        return largest
    unit = 1.0 if 1e-100 < largest < 1e100 else largest
    scaled = moduli if unit == 1.0 else moduli / unit
    return math.sqrt(sum_of_squares(scaled)) * unit


def compare_values(a: StoredTensor, b: StoredTensor, readers: tuple[Reader, Reader]) -> Difference:
    """Return the difference of two tensors of one shape, whose values can be read.

    Raises
    ------
    OSError, ValueError : a file changed or cannot be read.
    """
    result = Difference()
    if a.values is None or b.values is None:
        raise ValueError("the values of a tensor cannot be read")
    ours, theirs = _in_order(readers[0], a.values), _in_order(readers[1], b.values)
    for left, right in _aligned(ours, theirs):
        result.add(left, right)
    return result


def _in_order(reader: Reader, values: Values) -> Iterator[Array]:
    """Yield the elements in the order of their indices; read a tensor whole if it has another."""
    if reader.is_in_order(values):
        yield from reader.pieces(values)
    else:
        whole = reader.whole(values).reshape(-1)
        for at in range(0, whole.size, _STEP):
            yield whole[at : at + _STEP]


_STEP = 1 << 19  # elements


def _aligned(ours: Iterator[Array], theirs: Iterator[Array]) -> Iterator[tuple[Array, Array]]:
    """Yield parts of equal length of two sequences of arrays with as many elements."""
    left, right = next(ours, None), next(theirs, None)
    while left is not None and right is not None:
        count = min(left.size, right.size)
        yield left[:count], right[:count]
        left = left[count:] if left.size > count else next(ours, None)
        right = right[count:] if right.size > count else next(theirs, None)


def digest(tensor: StoredTensor, reader: Reader) -> bytes:
    """Return a hash that tensors have in common if their shapes and values are equal.

    Values are compared as float64: the dtype does not matter, nor does the sign of a zero, nor
    which NaN it is.
    """
    made = hashlib.blake2b(repr(tensor.shape).encode(), digest_size=16)
    if tensor.values is not None:
        for piece in _in_order(reader, tensor.values):
            wide = piece.astype(np.complex128 if piece.dtype.kind == "c" else np.float64)
            wide += 0.0  # -0.0 becomes 0.0
            wide[np.isnan(wide)] = np.nan
            made.update(wide.tobytes())
    return made.digest()
