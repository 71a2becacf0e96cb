"""The types of what runs of another form of the model measure."""

from __future__ import annotations

from typing_extensions import TypedDict

from hookcli.report.values import Number, Real


class OtherCompared(TypedDict):
    """Another form of a model beside it. `named` are the layers or tensors that differ first.

    `equal` is None if the other form could not be run; `error` then tells why.
    """

    equal: bool | None
    sentence: str
    named: list[str]
    relative: Number | None
    limit: Real | None
    place: str | None
    error: str | None


class PlanCompared(OtherCompared):
    """A parallel plan beside its model."""

    plan: str
    mesh: str


class CompiledCompared(OtherCompared):
    """A compiled model beside the eager one."""

    backend: str
    mode: str | None
