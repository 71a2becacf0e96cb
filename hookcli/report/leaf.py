"""What several rows of a report hold: numbers, and the tensors of a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.report.tree import Shape

Number: TypeAlias = float | Literal["nan", "inf", "-inf"]


def absent() -> Any:
    """Default of a field whose key is left out of the JSON while it is None."""
    return field(default=None, metadata={"absent": True})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor inside an input or output.

    `path` continues `input` or `output` in a selector: "" is the value itself, "[0]" its first
    item, ".logits" a key or attribute. `via` is "attribute" for a tensor found on a custom object.
    """

    path: str
    shape: Shape
    dtype: str
    via: Literal["attribute"] | None = absent()  # it is a field()
    stats: dict[str, Any] | None = None
    grad: dict[str, Any] | None = None
