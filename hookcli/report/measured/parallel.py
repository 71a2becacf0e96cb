"""The type of what the ranks of a parallel plan measure."""

from __future__ import annotations

from typing_extensions import TypedDict

from hookcli.report.values import Number, Real


class PlanCompared(TypedDict):
    """A plan beside its model. `named` are the layers or parameters that differ first.

    `equal` is None if the plan could not be run; `error` then tells why.
    """

    plan: str
    mesh: str
    equal: bool | None
    sentence: str
    named: list[str]
    relative: Number | None
    limit: Real | None
    place: str | None
    error: str | None
