"""Why an operator returned a value that is not finite, as far as its inputs prove it.

A reason is the name of a row of `hookcli.catalogue.reasons`, with the figures of its sentence. An
overflow is proven by the same operator in float64: its result is finite there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

from hookcli.models.nested import dtype_name
from hookcli.operators.finite import finite_range, is_readable
from hookcli.operators.names import packet_name
from hookcli.refusals import raise_if_external

Facts: TypeAlias = dict[str, Any]
Found: TypeAlias = tuple[str, Facts]
Arguments: TypeAlias = dict[str, Any]  # by the names of the operator's schema


@dataclass(slots=True)
class Operation:
    """One run of an operator: its arguments as they were before, and one of its outputs."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: torch.Tensor
    arguments: Arguments = field(default_factory=dict)

    def __post_init__(self) -> None:
        schema = getattr(self.func, "_schema", None)
        if schema is None:
            self.arguments = dict(enumerate(self.args)) | self.kwargs  # type: ignore[assignment]
            return
        names = [argument.name for argument in schema.arguments]
        self.arguments = {**dict(zip(names, self.args, strict=False)), **self.kwargs}

    @property
    def name(self) -> str:
        """The operator's name, without namespace, overload and the mark of in-place operators."""
        name = packet_name(self.func)
        return name[:-1] if name.endswith("_") and not name.endswith("__") else name

    def get(self, *names: str) -> Any:
        """Return the first of these arguments that was given."""
        return next((self.arguments[name] for name in names if name in self.arguments), None)

    def bad(self) -> torch.Tensor:
        """Return where the output is not finite."""
        return ~torch.isfinite(self.output)

    def at_bad(self, value: Any) -> torch.Tensor | None:
        """Return the elements of an input that the bad elements of the output were made from."""
        tensor = torch.as_tensor(value, device=self.output.device)
        try:
            return tensor.expand(self.output.shape)[self.bad()]
        except RuntimeError:  # not an elementwise operator
            return None


def floating_inputs(operation: Operation) -> list[torch.Tensor]:
    """Return the tensors among the arguments that have floating-point values."""
    found = []
    for value in operation.arguments.values():
        items = value if isinstance(value, list | tuple) else [value]
        found += [item for item in items if is_readable(item)]
    return found


def why(operation: Operation) -> Found | None:
    """Return the reason, if it is certain; the inputs of the operator are finite."""
    if operation.output.is_complex() or operation.output.layout is not torch.strided:
        return None
    check = _CHECKS.get(operation.name)
    found = None if check is None else check(operation)
    return found or _overflow(operation)


def why_from_inf(operation: Operation) -> Found | None:
    """Return why an operator made NaN of inputs that have Inf, but no NaN."""
    if operation.output.is_complex() or operation.output.layout is not torch.strided:
        return None
    check = _CHECKS_OF_INF.get(operation.name)
    return None if check is None else check(operation)


def _range(values: torch.Tensor) -> Facts:
    low, high = finite_range(values)
    return {"low": low, "high": high}


def _division(operation: Operation) -> Found | None:
    above = operation.at_bad(operation.get("self"))
    below = operation.at_bad(operation.get("other"))
    if below is None or above is None or not bool((below == 0).any()):
        return None
    both = bool(((below == 0) & (above == 0)).any())
    return ("zero_by_zero" if both else "by_zero"), {}


def _reciprocal(operation: Operation) -> Found | None:
    below = operation.at_bad(operation.get("self"))
    return ("by_zero", {}) if below is not None and bool((below == 0).any()) else None


def _logarithm(shift: float) -> Callable[[Operation], Found | None]:
    def check(operation: Operation) -> Found | None:
        values = operation.at_bad(operation.get("self"))
        if values is None:
            return None
        values = values.double() + shift
        if bool((values < 0).any()):
            return "log_of_negative", _range(values - shift)
        return (
            ("log_of_zero", {})
            if not shift and bool((values == 0).any())
            else (("pole", {"low": -shift}) if bool((values == 0).any()) else None)
        )

    return check


def _root(operation: Operation) -> Found | None:
    values = operation.at_bad(operation.get("self"))
    if values is None:
        return None
    if bool((values < 0).any()):
        return "root_of_negative", _range(values)
    return ("root_of_zero", {}) if bool((values == 0).any()) else None


def _power(operation: Operation) -> Found | None:
    base = operation.at_bad(operation.get("self"))
    exponent = operation.at_bad(operation.get("exponent"))
    if base is None or exponent is None:
        return None
    if bool(((base == 0) & (exponent < 0)).any()):
        return "negative_power_of_zero", {}
    negative = (base < 0) & (exponent != exponent.round())
    if bool(negative.any()):
        return "power_of_negative", _range(base[negative])
    return None


def _domain(low: float, high: float) -> Callable[[Operation], Found | None]:
    def check(operation: Operation) -> Found | None:
        values = operation.at_bad(operation.get("self"))
        if values is None:
            return None
        outside = values[(values < low) | (values > high)]
        if outside.numel():
            return "domain", _range(outside)
        edge = values[(values == low) | (values == high)]
        return ("pole", _range(edge)) if edge.numel() else None

    return check


def _deviation(operation: Operation) -> Found | None:
    correction = operation.get("correction", "unbiased")
    correction = 1 if correction is None else float(correction)
    source: torch.Tensor = operation.get("self")
    dims = operation.get("dim") or range(source.dim())
    count = 1
    for dim in [dims] if isinstance(dims, int) else dims:
        count *= source.shape[dim]
    return ("one_element", {}) if count - correction <= 0 else None


def _mean(operation: Operation) -> Found | None:
    return ("empty", {}) if operation.get("self").numel() == 0 else None


def _negative_log_likelihood(operation: Operation) -> Found | None:
    target, ignored = operation.get("target"), operation.get("ignore_index")
    weight = operation.get("weight")
    counted = target[target != ignored]
    if counted.numel() and (weight is None or bool(weight[counted].sum() != 0)):
        return None
    return "no_target", {}


def _normalization(operation: Operation) -> Found | None:
    return ("zero_variance", {}) if operation.get("eps") == 0 else None


def _determinant(operation: Operation) -> Found | None:
    matrix = operation.get("A", "self", "input")
    if not isinstance(matrix, torch.Tensor) or matrix.shape[-1] != matrix.shape[-2]:
        return None
    rank = torch.linalg.matrix_rank(matrix.double())
    return ("singular", {}) if bool((rank < matrix.shape[-1]).any()) else None


def _cast(operation: Operation) -> Found | None:
    source = operation.get("src", "self")
    if not isinstance(source, torch.Tensor) or source.dtype == operation.output.dtype:
        return None
    values = operation.at_bad(source)
    if values is None or not values.is_floating_point():
        return None
    return "cast_overflow", {**_range(values), **_limit(operation.output.dtype)}


def _limit(dtype: torch.dtype) -> Facts:
    return {"limit": torch.finfo(dtype).max, "dtype": dtype_name(dtype)}


def _overflow(operation: Operation) -> Found | None:
    """Return an overflow, if the operator's result is finite in float64, or it can be no other."""
    dtype, inputs = operation.output.dtype, floating_inputs(operation)
    if operation.name in _GROWING and inputs:
        return "exp_overflow", {**_limit(dtype), **_range(inputs[0])}
    if dtype is torch.float64:
        return ("overflow", _limit(dtype)) if operation.name in _POLYNOMIAL else None
    wide = _in_float64(operation)
    if wide is None or wide.shape != operation.output.shape:
        return None
    if not bool(torch.isfinite(wide[operation.bad()]).all()):
        return None
    return "overflow", {**_limit(dtype), "reached": float(wide.abs().max())}


def _in_float64(operation: Operation) -> torch.Tensor | None:
    def wide(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().double() if value.is_floating_point() else value.clone()
        if isinstance(value, list | tuple):
            return [wide(item) for item in value]
        return torch.float64 if isinstance(value, torch.dtype) else value

    try:
        out = operation.func(
            *[wide(value) for value in operation.args],
            **{name: wide(value) for name, value in operation.kwargs.items()},
        )
    except (RuntimeError, NotImplementedError, TypeError) as error:  # not implemented for float64
        raise_if_external(error)
        return None
    out = out[0] if isinstance(out, list | tuple) and out else out
    return out if isinstance(out, torch.Tensor) else None


def _softmax_of_inf(operation: Operation) -> Found | None:
    source, dim = operation.get("self"), operation.get("dim")
    if not isinstance(source, torch.Tensor) or not isinstance(dim, int):
        return None
    if bool((source == torch.inf).any()):
        return "softmax_of_inf", {}
    masked = bool((source == -torch.inf).all(dim=dim).any()) if source.dim() else True
    return ("all_masked", {}) if masked else None


def _attention(operation: Operation) -> Found | None:
    mask = operation.get("attn_mask", "attn_bias")
    if not isinstance(mask, torch.Tensor) or not mask.is_floating_point():
        return None
    return ("all_masked", {}) if bool((mask == -torch.inf).all(dim=-1).any()) else None


def _sum_of_inf(operation: Operation) -> Found | None:
    return "inf_minus_inf", {}


def _product_of_inf(operation: Operation) -> Found | None:
    one, other = (operation.at_bad(operation.get(name)) for name in ("self", "other"))
    if one is None or other is None:
        return None
    zero = ((one == 0) & torch.isinf(other)) | ((other == 0) & torch.isinf(one))
    return ("zero_times_inf", {}) if bool(zero.any()) else None


def _quotient_of_inf(operation: Operation) -> Found | None:
    return "inf_by_inf", {}


def _of_inf(operation: Operation) -> Found | None:
    return "of_inf", {}


def _products_of_inf(operation: Operation) -> Found | None:
    return "products_of_inf", {}


_CHECKS: dict[str, Callable[[Operation], Found | None]] = {
    "div": _division,
    "true_divide": _division,
    "floor_divide": _division,
    "remainder": _division,
    "fmod": _division,
    "reciprocal": _reciprocal,
    "log": _logarithm(0.0),
    "log2": _logarithm(0.0),
    "log10": _logarithm(0.0),
    "log1p": _logarithm(1.0),
    "sqrt": _root,
    "rsqrt": _root,
    "pow": _power,
    "acos": _domain(-1, 1),
    "asin": _domain(-1, 1),
    "atanh": _domain(-1, 1),
    "acosh": _domain(1, torch.inf),
    "erfinv": _domain(-1, 1),
    "logit": _domain(0, 1),
    "std": _deviation,
    "var": _deviation,
    "std_mean": _deviation,
    "var_mean": _deviation,
    "mean": _mean,
    "nll_loss_forward": _negative_log_likelihood,
    "nll_loss2d_forward": _negative_log_likelihood,
    "native_layer_norm": _normalization,
    "native_group_norm": _normalization,
    "native_batch_norm": _normalization,
    "_native_batch_norm_legit": _normalization,
    "_fused_rms_norm": _normalization,
    "linalg_inv_ex": _determinant,
    "_linalg_solve_ex": _determinant,
    "_linalg_slogdet": _determinant,
    "_to_copy": _cast,
    "copy": _cast,
}
_GROWING = {"exp", "exp2", "expm1", "sinh", "cosh"}  # infinite for finite inputs by overflow only
_POLYNOMIAL = {
    "add", "sub", "rsub", "mul", "sum", "cumsum", "prod", "cumprod", "square", "mm", "bmm",
    "addmm", "baddbmm", "mv", "dot", "convolution", "addcmul", "lerp",
}  # fmt: skip
_CHECKS_OF_INF: dict[str, Callable[[Operation], Found | None]] = {
    "_softmax": _softmax_of_inf,
    "_log_softmax": _softmax_of_inf,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_attention_math": _attention,
    "_scaled_dot_product_efficient_attention": _attention,
    "add": _sum_of_inf,
    "sub": _sum_of_inf,
    "rsub": _sum_of_inf,
    "sum": _sum_of_inf,
    "mean": _sum_of_inf,
    "cumsum": _sum_of_inf,
    "mul": _product_of_inf,
    "div": _quotient_of_inf,
    **dict.fromkeys(
        ("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "convolution"), _products_of_inf
    ),
    "sin": _of_inf,
    "cos": _of_inf,
    "tan": _of_inf,
}
