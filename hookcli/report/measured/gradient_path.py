"""The types of where the paths of gradients end."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from hookcli.report.measured.runs import FailedMeasurement, NotMeasured
from hookcli.report.values import Count, Number

CutKind: TypeAlias = Literal[
    "detach", "no_grad", "checkpoint", "integer", "operator", "function", "number"
]


class GradientCut(TypedDict):
    """An operator at which the path of a gradient ends; `behind` are the parts in front of it."""

    kind: CutKind
    operator: str
    layer: str | None
    module: str
    place: str | None
    behind: list[str]


class IdleTerm(GradientCut):
    """A cut behind a term of the loss that has no gradient; `sum` is the line that adds it."""

    sum: str | None


class CutCount(TypedDict):
    """The number of cuts, or of parameters that got no gradient or only zeros."""

    count: Count


class LostPath(TypedDict):
    """Why parameters got no gradient: `cut_off` are the parts of the model that contain them."""

    why: str
    parameters: Count
    cut_off: list[str]


class LostAtOutput(LostPath):
    """The parameters are behind an output that the loss does not use."""

    output: str


class LostAtLayer(LostPath):
    """The parameters are behind the output of a call that nothing uses."""

    layer: str | None
    module: str
    place: str | None


class LostAtOperator(LostAtLayer):
    """An operator is the reason; `copy_of` names the original if the parts are copies."""

    kind: CutKind
    operator: str
    copy_of: NotRequired[str]


CUTS = NotMeasured | FailedMeasurement | CutCount | GradientCut


class ZeroReason(LostPath):
    """Why gradients are zero: `what` is the operator or the factor, `count` its elements."""

    what: str
    place: str | None
    count: Count


class FunctionGradient(TypedDict):
    """A Function whose backward is not its derivative: both in one direction of an argument."""

    function: str
    place: str | None
    argument: str
    backward: Number
    difference: Number


FUNCTION_GRADIENT = NotMeasured | FailedMeasurement | FunctionGradient
TERM = NotMeasured | FailedMeasurement | IdleTerm
CONNECTED = bool
# What the row of a part without a gradient contains, by the reason; by default an operator.
_LOST: dict[str, Any] = {
    "unused": LostPath,
    "unknown": LostPath,
    "other_output": LostAtOutput,
    "unused_output": LostAtLayer,
}


def unreached(_target: str, value: Any) -> Any:
    """Return the type of why parts got no gradient, or of the number of their parameters."""
    if not isinstance(value, dict) or "cut_off" not in value:
        return NotMeasured | FailedMeasurement | CutCount
    why = value.get("why")
    return _LOST.get(why, LostAtOperator) if isinstance(why, str) else LostAtOperator


def zero_reason(_target: str, value: Any) -> Any:
    """Return the type of why gradients are zero."""
    is_reason = isinstance(value, dict) and "cut_off" in value
    return ZeroReason if is_reason else NotMeasured | FailedMeasurement
