"""What a name in a Python file gives: the first batch of a loader, or what a function returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.inputs.loaders import FirstBatch, first_batch, is_loader
from hookcli.inputs.materialise import Caller, given_batch
from hookcli.models import places
from hookcli.models.failures import failure_of
from hookcli.models.files.tensors import read_tensors
from hookcli.models.python.importing import import_file
from hookcli.models.sources.file_errors import file_not_found
from hookcli.sentences import missing_name
from hookcli.spec.inputs import FileSpec, FunctionSpec, InputSpec
from hookcli.text import nearest, try_instead

_FUNCTION_HINT = "write a function without arguments that returns the batch"
_BATCHES = (torch.Tensor, Mapping, list, tuple)


def caller(batch_size: int) -> Caller:
    """Return the function that calls functions and takes batches; a Dataset has `batch_size`."""
    return partial(_call, batch_size=batch_size)


def _call(spec: FunctionSpec, place: str, *, batch_size: int) -> FirstBatch:
    path = places.START / spec.source
    if not path.is_file():
        raise file_not_found(spec.source, place, at=path)
    value, name = _named(import_file(path), spec, place), spec.name
    if not is_loader(value) and not isinstance(value, _BATCHES):
        if not callable(value):
            raise RequestError(
                f"'{name}' must be a function, a loader or a batch, got {type(value).__name__}",
                place=place,
                hint="name a function without arguments, a DataLoader or a Dataset",
            )
        name = f"{name}()"
        try:
            value = value()
        except Exception as error:  # noqa: BLE001  # the user's code may raise anything
            raise _failed(name, error, place, _FUNCTION_HINT) from None
    return take_first(value, batch_size, name, place)


def _named(module: Any, spec: FunctionSpec, place: str) -> Any:
    value = module
    for step in spec.name.split("."):
        if not hasattr(value, step):
            near = nearest(step, [n for n in dir(value) if not n.startswith("_")], cutoff=0.6)
            raise RequestError(
                missing_name(step, spec.source),
                place=place,
                hint=try_instead(near, "name a function, a DataLoader or a Dataset of the file"),
            )
        value = getattr(value, step)
    return value


def take_first(value: Any, batch_size: int, name: str, place: str) -> FirstBatch:
    """Return the first batch of a loader; any other value as it is. `name` is for errors.

    Raises
    ------
    RequestError : the loader has no batch.
    ModelError : its code fails.
    """
    try:
        return first_batch(value, batch_size)
    except StopIteration:
        raise RequestError(
            f"{name} gives no batch",
            place=place,
            hint="pass a loader with at least one batch, or `--batch-size` below its size",
        ) from None
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        hint = "check that a loop over it works in plain Python"
        raise _failed(name, error, place, hint) from None


def _failed(name: str, error: Exception, place: str, hint: str) -> ModelError:
    failure = failure_of(error, "inputs")
    return ModelError(
        f"{name} failed: {failure.type}: {failure.message}",
        place=failure.place or place,
        hint=hint,
        details=failure.details,
    )


def value_of(input_spec: InputSpec, batch_size: int) -> Any:
    """Return the value of an input that is a file, a function, or a list or mapping of inputs."""
    call = caller(batch_size)
    if isinstance(input_spec.spec, FunctionSpec):
        return call(input_spec.spec, input_spec.place).value
    if isinstance(input_spec.spec, FileSpec):
        return read_tensors(input_spec.spec.path, input_spec.place)
    unnamed = replace(input_spec, name=None)  # a list or mapping of inputs
    batch = given_batch((unnamed,), floating=torch.get_default_dtype(), device="cpu", call=call)
    return batch.args[0]


def loader_of(root: nn.Module) -> Any:
    """Return what the model's `train_dataloader()` returns; None if it has none of its own.

    Raises
    ------
    ModelError : the method fails.
    """
    make = getattr(root, "train_dataloader", None)
    if not callable(make):
        return None
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        failure = failure_of(error, "inputs")
        if failure.type in {"MisconfigurationException", "NotImplementedError"}:
            return None  # Lightning's base class
        raise ModelError(
            f"train_dataloader() failed: {failure.type}: {failure.message}",
            place=failure.place or "train_dataloader()",
            hint="pass the batch with `--input data.py:loader`",
            details=failure.details,
        ) from None
