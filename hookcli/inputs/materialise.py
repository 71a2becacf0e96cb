"""Make the tensors and values that `--input` describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.errors import RequestError
from hookcli.inputs.loaders import FirstBatch
from hookcli.models.batch import Batch, as_batch
from hookcli.spec.inputs import (
    INTEGERS,
    DictSpec,
    FileSpec,
    FunctionSpec,
    InputSpec,
    ListSpec,
    Spec,
    TensorSpec,
    TupleSpec,
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


Caller: TypeAlias = Callable[[FunctionSpec, str], FirstBatch]


def given_values(
    specs: tuple[InputSpec, ...], *, floating: torch.dtype, device: str, call: Caller
) -> list[FirstBatch]:
    """Return the value of each input. `call` returns what a name in a Python file gives.

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
                from hookcli.models.files.tensors import read_tensors  # imports safetensors

                return read_tensors(spec.path, argument.place)
            case FunctionSpec():
                return call(spec, argument.place).value
            case ListSpec():
                return [value(inner, argument) for inner in spec.items]
            case TupleSpec():
                return tuple(value(inner, argument) for inner in spec.items)
            case DictSpec():
                return {key: value(inner, argument) for key, inner in spec.items}

    return [
        call(argument.spec, argument.place)
        if isinstance(argument.spec, FunctionSpec)
        else FirstBatch(value(argument.spec, argument), loaded=False)
        for argument in specs
    ]


def given_batch(
    specs: tuple[InputSpec, ...],
    *,
    floating: torch.dtype,
    device: str,
    call: Caller,
    split: Callable[[FirstBatch], Batch] = lambda first: as_batch(first.value),
) -> Batch:
    """Return the batch that `--input` or a configuration describes.

    A single unnamed file or function is the whole batch, which `split` splits into arguments;
    otherwise each is one argument.

    Raises
    ------
    RequestError, ModelError : a file or function does not give what is needed.

    """
    values = given_values(specs, floating=floating, device=device, call=call)
    if (
        len(specs) == 1
        and specs[0].name is None
        and isinstance(specs[0].spec, FileSpec | FunctionSpec)
    ):
        return split(values[0])
    pairs = list(zip((spec.name for spec in specs), values, strict=True))
    return Batch(
        tuple(first.value for name, first in pairs if name is None),
        {name: first.value for name, first in pairs if name is not None},
    )


def given_target(
    specs: tuple[InputSpec, ...], *, floating: torch.dtype, device: str, call: Caller
) -> Any:
    """Return the target that `--target` or a configuration describes.

    It is the value of a single unnamed part, a tuple of several, or a dict of named parts.

    Raises
    ------
    RequestError, ModelError : a file or function does not give what is needed, or some parts have
        names and others have none.

    """
    names = [spec.name for spec in specs]
    if any(names) and not all(names):
        unnamed = specs[names.index(None)]
        raise RequestError(
            "a target cannot have parts with and without names",
            place=unnamed.place,
            hint="give each part a name, as in `--target boxes=2x4`, or none",
        )
    values = [
        first.value for first in given_values(specs, floating=floating, device=device, call=call)
    ]
    if any(names):
        return dict(zip(names, values, strict=True))
    return values[0] if len(values) == 1 else tuple(values)


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
