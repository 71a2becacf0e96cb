"""The result of one part of the benchmark: tables, figures with their limits, and text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A ratio that should be at most `limit`."""

    name: str
    value: float
    limit: float

    @property
    def reached(self) -> bool:
        return self.value <= self.limit


@dataclass(frozen=True)
class Table:
    """Cells as strings. With `numbers` all columns but the first are aligned as numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    numbers: bool = True


@dataclass(frozen=True)
class Section:
    title: str
    how: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()


def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def ratio(value: float, other: float) -> str:
    return f"{value / other:.2f}"


def gigabytes(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e9:.2f} GB"
