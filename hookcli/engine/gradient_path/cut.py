"""An operator at which the path of a gradient ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CutKind: TypeAlias = Literal["detach", "no_grad", "integer", "operator", "function", "number"]


@dataclass(slots=True)
class Cut:
    """A place where a result does not require grad although an argument does.

    "no_grad": gradients were turned off. "integer": the result has an integer or Boolean dtype.
    "function": a custom autograd Function. "number": the result is a Python value. `behind` are the
    bits of the parameters behind the arguments, `bit` is its own bit among the cuts.
    """

    kind: CutKind
    operator: str
    place: str | None
    layer: str | None  # the name of the innermost module that ran
    module: str  # its type
    bit: int
    behind: int = 0
    left: bool = False  # its values were read by Python
