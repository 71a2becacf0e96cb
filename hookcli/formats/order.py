"""The order of rows by one of their values: rows without a value are always last."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hookcli.formats.names import POSITIONS
from hookcli.text import counted

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Ordered(Generic[Row]):
    """Rows in order, and how many are last because their value is NaN or not known."""

    rows: list[Row]
    nan: int = 0
    unknown: int = 0


def measured(value: object) -> float | None:
    """Return the value as a number, also "nan", "inf" and "-inf"; None if it is not known."""
    if isinstance(value, str):
        return float(value) if value in {"nan", "inf", "-inf"} else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def sort_key(sort: str) -> str:
    """Return the name by which to sort: `norm` for `norm` and for `-norm`."""
    return sort.removeprefix("-")


def ordered(
    rows: Sequence[Row], sort: str, value: Callable[[Row], object], *, words: bool = False
) -> Ordered[Row]:
    """Return the rows by their values: the largest first, positions and words the smallest first.

    A minus before the name reverses this. Rows with equal values stay in the order of the report,
    and so do those without one, which are last. With `words` the values are strings.
    """
    flipped = sort.startswith("-")
    if words:
        return Ordered(sorted(rows, key=lambda row: str(value(row)), reverse=flipped))
    known: list[tuple[float, Row]] = []
    nan: list[Row] = []
    unknown: list[Row] = []
    for row in rows:
        number = measured(value(row))
        if number is None:
            unknown.append(row)
        elif math.isnan(number):
            nan.append(row)
        else:
            known.append((number, row))
    known.sort(key=lambda pair: pair[0], reverse=flipped == (sort_key(sort) in POSITIONS))
    return Ordered([row for _, row in known] + nan + unknown, len(nan), len(unknown))


def notes(sort: str | None, *parts: Ordered[Any]) -> list[str]:
    """Return a note if rows are last because they have no value to sort by."""
    nan, unknown = sum(part.nan for part in parts), sum(part.unknown for part in parts)
    if sort is None or not (nan or unknown):
        return []
    last = [f"{nan:,} with NaN"] if nan else []
    last += [f"{unknown:,} without a value"] if unknown else []
    return [
        f"sorted by {sort_key(sort)}: {counted(nan + unknown, 'row')} last, {' and '.join(last)}"
    ]
