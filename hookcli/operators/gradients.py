"""Why the backward of an operator is not finite: what its node divides by, or multiplies."""

from __future__ import annotations

import re

from hookcli.operators.reasons import Found

_NUMBER = re.compile(r"Backward\d*$")
_DIVIDES = {"zero_by_zero", "by_zero"}
_EDGE = {"root_of_zero", "by_zero", "zero_by_zero", "root_of_negative"}
_POWER = {"negative_power_of_zero", *_DIVIDES}

# The derivatives that are infinite somewhere: the forward's operator, what the backward then does,
# and the reason.
_DERIVATIVES = (
    ({"Sqrt"}, _DIVIDES, "gradient_of_root"),
    ({"Pow", "ForeachPow"}, _POWER, "gradient_of_power"),
    ({"LinalgVectorNorm", "Norm", "Cdist", "Hypot"}, _POWER, "gradient_of_root"),
    ({"Log", "Log2", "Log10", "Log1P", "Xlogy"}, _DIVIDES, "gradient_of_log"),
    ({"Div", "Reciprocal", "Remainder"}, _DIVIDES, "gradient_of_division"),
    ({"Acos", "Asin", "Acosh", "Atanh", "Erfinv", "Logit"}, _EDGE, "gradient_at_edge"),
    ({"LinalgEigh", "LinalgEig", "LinalgSvd"}, _DIVIDES, "gradient_of_equal_values"),
)


def forward_name(node: str) -> str:
    """Return what a node is the backward of: Sqrt for SqrtBackward0."""
    return _NUMBER.sub("", node)


def why_in_backward(node: str, found: Found | None, *, from_inf: bool) -> Found | None:
    """Return the reason in terms of the forward; `found` is what an operator of the node did.

    With `from_inf`, it made NaN of inputs that have Inf.
    """
    if found is None:
        return None
    name = forward_name(node)
    if from_inf and found[0] == "zero_times_inf":
        return "gradient_times_inf", found[1]
    if from_inf and found[0] == "inf_minus_inf" and name == "Logsumexp":
        return "gradient_of_masked", found[1]
    for names, done, reason in _DERIVATIVES:
        if name in names and found[0] in done:
            return reason, found[1]
    return found
