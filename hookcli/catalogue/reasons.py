"""Why the result of an operator is not finite: what a message says, and what to try."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason that was verified with the operator's inputs.

    `clause` completes "NaN first appears in LAYER at LINE: ". {op} is the operator, {low} and
    {high} are the least and the greatest value that it got, {values} is both, {dtype} and {limit}
    are a dtype and its greatest value. `advice` begins with an imperative verb.
    """

    name: str
    clause: str
    advice: str


_DENOMINATOR = "add a small eps to the denominator, or select the elements before the division"
_BEFORE = "replace the value before the operator: torch.where after it does not stop a NaN gradient"
_RANGE = "scale the values down, normalize them, or compute this part in float32"
_FORWARD = (
    Reason("zero_by_zero", "{op} divides 0 by 0", _DENOMINATOR),
    Reason("by_zero", "{op} divides by 0", _DENOMINATOR),
    Reason(
        "log_of_zero",
        "{op} got 0",
        "clamp its input to a small positive number; use log_softmax for the log of a softmax",
    ),
    Reason(
        "log_of_negative",
        "{op} got values down to {low}",
        "clamp its input to a small positive number",
    ),
    Reason("root_of_negative", "{op} got values down to {low}", "clamp its input at 0"),
    Reason("negative_power_of_zero", "{op} raises 0 to a negative power", "clamp its input"),
    Reason(
        "root_of_zero", "{op} got 0", "add a small eps to its input, inside the reciprocal root"
    ),
    Reason(
        "power_of_negative",
        "{op} raises {low} to a power that is not an integer",
        "clamp its input at 0, or use the absolute value",
    ),
    Reason(
        "domain",
        "{op} got {values}, outside of its domain",
        "clamp its input to the domain of the function",
    ),
    Reason("pole", "{op} got {low}, where it is infinite", "clamp its input"),
    Reason("overflow", "{op} exceeds {limit}, the largest {dtype} value", _RANGE),
    Reason(
        "exp_overflow",
        "{op} got values up to {high}, and its result exceeds {limit}, the largest {dtype} value",
        "subtract the maximum first, as logsumexp and softmax do, or clamp the input",
    ),
    Reason(
        "cast_overflow",
        "{op} casts {values} to {dtype}, whose largest value is {limit}",
        "keep this part in float32, use bfloat16, or scale the values down",
    ),
    Reason(
        "one_element",
        "{op} needs at least two elements",
        "pass correction=0, or batches of more than one sample",
    ),
    Reason(
        "empty",
        "{op} averages no elements: its input is empty",
        "skip the reduction if there are no elements",
    ),
    Reason(
        "no_target",
        "{op} averages over no targets: all are ignored, or have the weight 0",
        "skip batches without a target, or divide a sum by the count clamped at 1",
    ),
    Reason(
        "zero_variance",
        "{op} divides by a variance of 0, and eps is 0",
        "pass an eps greater than 0",
    ),
    Reason("singular", "{op} got a singular matrix", "add a small multiple of the identity matrix"),
)
_FROM_INF = (
    Reason(
        "all_masked",
        "{op} got a row in which every value is -Inf",
        "leave one value of each row unmasked, or mask with a large negative number",
    ),
    Reason(
        "softmax_of_inf",
        "{op} got Inf",
        "scale the logits down, or compute them in float32",
    ),
    Reason("inf_minus_inf", "{op} subtracts Inf from Inf", "avoid the Inf before this line"),
    Reason(
        "zero_times_inf",
        "{op} multiplies 0 by Inf",
        "select with torch.where instead of multiplying by 0, or avoid the Inf",
    ),
    Reason(
        "products_of_inf",
        "{op} multiplies Inf by 0, or adds Inf and -Inf",
        "avoid the Inf before this line",
    ),
    Reason("of_nan", "{op} got NaN", "look for the NaN in the batch, or before this hook"),
    Reason("inf_by_inf", "{op} divides Inf by Inf", "avoid the Inf before this line"),
    Reason("of_inf", "{op} got Inf, for which it has no value", "avoid the Inf before this line"),
)
_GRADIENT = (
    Reason(
        "gradient_of_root",
        "the derivative of {op} at 0 is infinite",
        "add a small eps inside the root, as in torch.sqrt(x + 1e-12)",
    ),
    Reason(
        "gradient_of_power",
        "the derivative of {op} at 0 is infinite, as the exponent is below 1",
        "add a small eps to the base",
    ),
    Reason("gradient_of_log", "{op} got 0, where its derivative is infinite", _BEFORE),
    Reason("gradient_of_division", "the denominator of {op} is 0", _BEFORE),
    Reason(
        "gradient_at_edge",
        "the derivative of {op} is infinite at the edge of its domain",
        "clamp its input to slightly less than the domain of the function",
    ),
    Reason(
        "gradient_of_equal_values",
        "the derivative of {op} is infinite for singular values or eigenvalues that are equal",
        "avoid the vectors in the loss, or add noise to the matrix",
    ),
    Reason("gradient_times_inf", "the gradient of {op} multiplies 0 by Inf", _BEFORE),
    Reason("gradient_of_masked", "every value of a row of {op} is -Inf",
           "leave one value of each row unmasked, or mask with a large negative number"),
)  # fmt: skip
_GIVEN = (
    Reason("input", "the batch contains it", "check how the batch is loaded and normalized"),
    Reason(
        "parameter",
        "the parameter {name} contains it before the step",
        "check how it is initialized or loaded, and the learning rate",
    ),
    Reason("buffer", "the buffer contains it before the run", "check how it is initialized"),
    Reason("constant", "{op} writes it as a constant", "use a finite number here"),
    Reason("array", "it is in an array that torch did not make", "check how the array is made"),
    Reason("outside", "it is made outside of torch", "check where this tensor comes from"),
    Reason(
        "uninitialized",
        "{op} returns uninitialized memory",
        "use torch.zeros, or write every element before it is read",
    ),
)

REASONS = {reason.name: reason for reason in (*_FORWARD, *_FROM_INF, *_GRADIENT, *_GIVEN)}
