"""The sizes that a program expects of its inputs, and the check of a batch against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.errors import ModelError


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed sizes of a dynamic dimension; None means no limit."""

    low: int | None
    high: int | None

    def __str__(self) -> str:
        if self.low == self.high and self.low is not None:
            return str(self.low)
        low = 0 if self.low is None else self.low
        return f"{low} or more" if self.high is None else f"{low} to {self.high}"

    def contains(self, size: int) -> bool:
        """Whether a size is in the range."""
        return (self.low is None or size >= self.low) and (self.high is None or size <= self.high)


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension: an int if it is fixed, else a sympy expression over symbols."""

    size: Any

    @property
    def fixed(self) -> bool:
        """Whether only one size is allowed."""
        return isinstance(self.size, int)


@dataclass(frozen=True, slots=True)
class ExpectedInput:
    """One leaf of the inputs: a tensor with these dimensions, or a constant."""

    label: str
    dims: tuple[Dim, ...] | None
    dtype: torch.dtype | None = None
    constant: Any = None


class Checker:
    """Compare the leaves of a batch with the inputs that the program was exported for."""

    def __init__(self, expected: tuple[ExpectedInput, ...], ranges: dict[Any, Range]) -> None:
        self._expected = expected
        self._ranges = ranges

    def check(self, leaves: list[Any]) -> None:
        """Compare one batch.

        Raises
        ------
        ModelError : a leaf has another type, rank or size; the message names the dimension.
        """
        sizes: dict[Any, tuple[int, str]] = {}
        for expected, leaf in zip(self._expected, leaves, strict=True):
            if expected.dims is None:
                self._constant(expected, leaf)
                continue
            if not isinstance(leaf, torch.Tensor):
                raise _misfit(f"{expected.label} must be a tensor, got {leaf!r}")
            if leaf.dim() != len(expected.dims):
                raise _misfit(
                    f"{expected.label} must have {len(expected.dims)} dimensions "
                    f"({self.describe(expected)}), got {leaf.dim()}"
                )
            for index, (dim, size) in enumerate(zip(expected.dims, leaf.shape, strict=True)):
                self._size(f"dimension {index} of {expected.label}", dim, int(size), sizes)

    def _constant(self, expected: ExpectedInput, leaf: Any) -> None:
        same = type(leaf) is type(expected.constant) and (leaf == expected.constant or leaf != leaf)
        if not same:
            raise _misfit(
                f"{expected.label} must be {_value(expected.constant)}, which the export fixed, "
                f"got {_value(leaf)}",
                hint="pass that value, or omit the argument",
            )

    def _size(self, name: str, dim: Dim, size: int, known: dict[Any, tuple[int, str]]) -> None:
        if dim.fixed:
            if size != dim.size:
                raise _misfit(
                    f"{name} must be {dim.size}, which the export fixed, got {size}",
                    hint="pass an `--input` of that size, or export with `dynamic_shapes`",
                )
            return
        allowed = self._ranges.get(dim.size)
        if allowed is not None and not allowed.contains(size):
            raise _misfit(f"{name} ({dim.size}) must be {allowed}, got {size}")
        if dim.size.is_symbol:
            before = known.setdefault(dim.size, (size, name))
            if before[0] != size:
                raise _misfit(
                    f"{before[1]} and {name} must be equal ({dim.size}), got {before[0]} and {size}"
                )
            return
        value = dim.size.subs({symbol: known_size for symbol, (known_size, _) in known.items()})
        if value.is_number and int(value) != size:
            raise _misfit(f"{name} must be {dim.size} = {value}, got {size}")

    def smallest(self, dim: Dim) -> int:
        """Return an allowed size: 2 if possible, because 1 is often a special case."""
        if dim.fixed:
            return int(dim.size)
        if not dim.size.is_symbol:
            known = {s: self.smallest(Dim(s)) for s in dim.size.free_symbols}
            return int(dim.size.subs(known))
        allowed = self._ranges.get(dim.size, Range(None, None))
        least = max(2, allowed.low or 0)
        return least if allowed.contains(least) else allowed.high or 1

    def describe(self, expected: ExpectedInput) -> str:
        """Describe a leaf: `x [s0, 3, 8]`."""
        if expected.dims is None:
            return f"{expected.label} = {_value(expected.constant)}"
        return f"{expected.label} [{', '.join(str(dim.size) for dim in expected.dims)}]"

    def dynamic(self) -> str | None:
        """Describe the dynamic dimensions, for a note; None if all are fixed."""
        by_symbol: dict[str, list[str]] = {}
        ranges: dict[str, Range] = {}
        for expected in self._expected:
            for index, dim in enumerate(expected.dims or ()):
                if not dim.fixed:
                    by_symbol.setdefault(str(dim.size), []).append(
                        f"{expected.label}.shape[{index}]"
                    )
                    if dim.size in self._ranges:
                        ranges[str(dim.size)] = self._ranges[dim.size]
        if not by_symbol:
            return None
        return "; ".join(
            f"{' = '.join(places)} = {symbol}"
            + (f" ({ranges[symbol]})" if symbol in ranges else "")
            for symbol, places in by_symbol.items()
        )


def _value(value: Any) -> str:
    return f"a tensor {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def _misfit(message: str, hint: str = "pass an `--input` of the required sizes") -> ModelError:
    return ModelError(message, place="--input", hint=hint)
