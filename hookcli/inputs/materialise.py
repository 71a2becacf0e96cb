"""Make the tensors and values that `--input` describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hookcli.errors import RequestError
from hookcli.models.batch import Batch, as_batch
from hookcli.models.files.tensors import read_tensors
from hookcli.spec.inputs import (
    INTEGERS,
    DictSpec,
    FileSpec,
    FunctionSpec,
    InputSpec,
    ListSpec,
    Spec,
    TensorSpec,
    ValueSpec,
)
from hookcli.text import first_line

_DEFAULT_HIGH = 2  # integers are 0 or 1 unless a range is given: safe for any table and mask


def make_tensor(spec: TensorSpec, floating: torch.dtype, device: str) -> torch.Tensor:
    """Return the tensor that a spec describes; a fake one inside a fake tensor mode."""
    dtype = floating if spec.dtype is None else getattr(torch, spec.dtype)
    shape, fill = spec.shape, spec.fill
    if fill.kind == "ones":
        return torch.ones(shape, dtype=dtype, device=device)
    if fill.kind == "zeros":
        return torch.zeros(shape, dtype=dtype, device=device)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, device=device) == 1
    if dtype.is_floating_point or dtype.is_complex:
        return _floating(shape, dtype, device, spec)
    low, high = (int(fill.low), int(fill.high)) if fill.kind == "range" else (0, _DEFAULT_HIGH)
    if high - 1 > torch.iinfo(dtype).max or low < torch.iinfo(dtype).min:
        raise OverflowError(f"{spec.dtype} cannot represent {low} to {high - 1}")
    return torch.randint(low, high, shape, device=device).to(dtype)


def _floating(
    shape: tuple[int, ...], dtype: torch.dtype, device: str, spec: TensorSpec
) -> torch.Tensor:
    small = dtype.itemsize < 2 or dtype == torch.complex32  # torch cannot draw float8 directly
    drawn = torch.complex64 if dtype == torch.complex32 else torch.float32 if small else dtype
    if spec.fill.kind == "range":
        values = torch.rand(shape, dtype=drawn, device=device)
        values = values * (spec.fill.high - spec.fill.low) + spec.fill.low
    elif spec.fill.kind == "rand":
        values = torch.rand(shape, dtype=drawn, device=device)
    else:
        values = torch.randn(shape, dtype=drawn, device=device)
    return values.to(dtype) if small else values


def given_batch(
    specs: tuple[InputSpec, ...],
    *,
    floating: torch.dtype,
    device: str,
    call: Callable[[FunctionSpec, str], Any],
) -> Batch:
    """Return the batch that `--input` or a configuration describes.

    A single unnamed file or function is the whole batch; otherwise each is one argument.

    Raises
    ------
    RequestError, ModelError : a file or function does not give what is needed.

    """

    def value(spec: Spec, argument: InputSpec) -> Any:
        match spec:
            case TensorSpec():
                return _tensor(spec, argument.place, floating, device)
            case ValueSpec():
                return spec.value
            case FileSpec():
                return read_tensors(spec.path, argument.place)
            case FunctionSpec():
                return call(spec, argument.text)
            case ListSpec():
                return [value(inner, argument) for inner in spec.items]
            case DictSpec():
                return {key: value(inner, argument) for key, inner in spec.items}

    made = [(argument, value(argument.spec, argument)) for argument in specs]
    if (
        len(made) == 1
        and made[0][0].name is None
        and isinstance(made[0][0].spec, FileSpec | FunctionSpec)
    ):
        return as_batch(made[0][1])
    return Batch(
        tuple(value for argument, value in made if argument.name is None),
        {argument.name: value for argument, value in made if argument.name is not None},
    )


def _tensor(spec: TensorSpec, place: str, floating: torch.dtype, device: str) -> torch.Tensor:
    try:
        return make_tensor(spec, floating, device)
    except (RuntimeError, OverflowError, ValueError, TypeError) as error:
        first = first_line(str(error))
        kind = "integers" if spec.dtype in INTEGERS else "numbers"
        raise RequestError(
            f"cannot create this tensor of {kind}: {first}",
            place=place,
            hint="give a smaller shape, or a range that fits the dtype",
        ) from None
