"""The types of statistics of tensors."""

from __future__ import annotations

from typing import TypeAlias

from typing_extensions import TypedDict

from hookcli.report.values import Index, Number, Size

_Figure: TypeAlias = Number | None


class Figures(TypedDict, total=False):
    """Figures of a tensor's elements."""

    norm: _Figure
    mean: _Figure
    std: _Figure
    min: _Figure
    max: _Figure
    abs_max: _Figure


class ValueCounts(TypedDict):
    """How many finite elements are in each bin; all bins from `low` to `high` have one width."""

    low: Number
    high: Number
    counts: list[Size]


class Statistics(Figures, total=False):
    """The result of `stats`; `finite` contains the figures of the finite elements.

    `stats: histogram` adds the `histogram`; it is null without finite elements.
    """

    numel: Size | None
    zeros: Size | None
    nans: Size | None
    infs: Size | None
    finite: Figures | None
    histogram: ValueCounts | None


class StepStatistics(TypedDict, total=False):
    """A parameter in one step; steps count from 0."""

    step: Index
    grad: Statistics | None
    status: str | None


class OperatorInput(TypedDict, total=False):
    """An input of the operator that made the first value that is not finite."""

    name: str | None
    dtype: str | None
    shape: list[Size | None] | None
    min: _Figure
    max: _Figure
    nans: Size | None
    infs: Size | None
