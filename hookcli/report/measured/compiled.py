"""The type of what the comparison with a compiled model measures."""

from __future__ import annotations

from typing_extensions import TypedDict

from hookcli.report.values import Number, Real


class CompiledCompared(TypedDict):
    """A compiled model beside the eager one. `named` are the layers or tensors that differ first.

    `equal` is None if the model could not be compiled here; `error` then tells why.
    """

    backend: str
    mode: str | None
    equal: bool | None
    sentence: str
    named: list[str]
    relative: Number | None
    limit: Real | None
    place: str | None
    error: str | None
