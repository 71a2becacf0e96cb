"""Columns of the data of a page, written compactly: a repeated text is stored once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from hookcli.console import escape
from hookcli.report.values import Number

TextColumn: TypeAlias = dict[str, list[Any]]

# The figures of a tensor, in the order of their lists; "zeros" and those after it are counts.
FIGURES = ("numel", "norm", "mean", "std", "min", "max", "abs_max", "zeros", "nans", "infs")

_DIGITS = 6  # significant digits of a measured number


def text_column(texts: Iterable[str | None]) -> TextColumn:
    """Return {"texts": distinct texts, "at": an index for each row}; -1 is None.

    The texts are safe to show: control characters and bidi marks are written as escapes.
    """
    index: dict[str, int] = {}
    rows = [-1 if text is None else index.setdefault(text, len(index)) for text in texts]
    return {"texts": [escape(text) for text in index], "at": rows}


def rounded(value: Number | None) -> Number | None:
    """Return a number with six significant digits; integers and names of numbers are kept."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    return value


def figures(stats: Mapping[str, Any] | None) -> list[Number | None] | None:
    """Return the figures of a tensor in the order of FIGURES; None if there are none."""
    if stats is None:
        return None
    return [rounded(stats.get(name)) for name in FIGURES]


def histogram(stats: Mapping[str, Any] | None) -> list[Any] | None:
    """Return [low, high, counts] of the finite elements of a tensor; None if not measured."""
    counted = None if stats is None else stats.get("histogram")
    if not counted:
        return None
    return [rounded(counted["low"]), rounded(counted["high"]), list(counted["counts"])]


def sparse(values: Iterable[Any]) -> dict[str, Any]:
    """Return the values that are not empty, by row."""
    return {str(row): value for row, value in enumerate(values) if value}
