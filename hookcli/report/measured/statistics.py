"""The types of statistics of tensors."""

from __future__ import annotations

from typing import TypeAlias

from typing_extensions import TypedDict

from hookcli.report.values import Number

_Figure: TypeAlias = Number | None


class Figures(TypedDict, total=False):
    """Figures of a tensor's elements."""

    norm: _Figure
    mean: _Figure
    std: _Figure
    min: _Figure
    max: _Figure
    abs_max: _Figure


class Statistics(Figures, total=False):
    """The result of `stats`; `finite` contains the figures of the finite elements."""

    numel: int | None
    zeros: int | None
    nans: int | None
    infs: int | None
    finite: Figures | None


class StepStatistics(TypedDict, total=False):
    """A parameter in one step; steps count from 0."""

    step: int
    grad: Statistics | None
    status: str | None
