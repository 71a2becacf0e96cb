"""Calls the user's plan, and checks what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from hookcli.engine.parallel.names import plain_name
from hookcli.errors import ModelError, is_own
from hookcli.models import module_tree, places
from hookcli.models.failures import TRACEBACK_HINT, failure_of
from hookcli.models.python.functions import function_of
from hookcli.spec.compared.parallel import ParallelPlan

_FORM = "define `apply(model, mesh)` that returns the model"


def apply_plan(
    plan: ParallelPlan, root: nn.Module, device: torch.device, names: Sequence[str]
) -> nn.Module:
    """Return the model as the plan made it; `names` are those of its parameters before.

    Raises
    ------
    RequestError, ModelError : the function does not exist, cannot be called with both, raises, or
        returns something else.
    """
    function = function_of(plan.function, plan.place)
    place = _place_of(function) or plan.place
    _check_arguments(function, plan, place)
    mesh = init_device_mesh(device.type, plan.mesh.sizes, mesh_dim_names=plan.mesh.names)
    try:
        made = function(root, mesh)
    except (Exception, SystemExit) as error:  # a script that parses arguments may end itself
        if is_own(error):
            raise
        failure = failure_of(error, "build")
        message = " ".join(failure.message.split())
        about_mesh = "mesh" in message.lower()
        raise ModelError(
            f"{plan.function} raised {failure.type}: {message}",
            place=failure.place or place,
            hint=_mesh_hint(plan) if about_mesh else TRACEBACK_HINT,
            details=failure.details,
        ) from None
    return checked_model(made, plan, names, place)


def _check_arguments(function: Callable[..., Any], plan: ParallelPlan, place: str) -> None:
    """Check that a function can be called with a model and a mesh.

    Raises
    ------
    ModelError : it has other parameters.
    """
    try:
        inspect.signature(function).bind("model", "mesh")
    except ValueError:
        return  # it is written in C, and has no signature
    except TypeError as error:
        raise ModelError(
            f"{plan.function} cannot be called with (model, mesh): {error}", place=place, hint=_FORM
        ) from None


def _mesh_hint(plan: ParallelPlan) -> str:
    return f"change `mesh={plan.mesh.text()}`, or the dimensions that the function uses"


def _place_of(function: Any) -> str | None:
    code = getattr(function, "__code__", None)
    return None if code is None else f"{places.show(code.co_filename)}:{code.co_firstlineno}"


def checked_model(made: Any, plan: ParallelPlan, names: Sequence[str], place: str) -> nn.Module:
    """Return what a plan returned, if it is the model or a wrapper of it.

    Raises
    ------
    ModelError : it is something else.
    """
    if not isinstance(made, nn.Module):
        what = "nothing" if made is None else type(made).__name__
        raise ModelError(
            f"{plan.function} must return the model, got {what}", place=place, hint=_FORM
        )
    tensors = module_tree.tensors(made, "_parameters")
    if names and not any(plain_name(n, names) in names for _, found, _ in tensors for n in found):
        raise ModelError(
            f"{plan.function} returned another model: no parameter has a name of the reference",
            place=place,
            hint="return the model that the function got, or a wrapper of it",
        )
    empty = next((found[0] for tensor, found, _ in tensors if tensor.is_meta), None)
    if empty is not None:
        raise ModelError(
            f"{plan.function} returned a model without values: {empty} is on the meta device",
            place=place,
            hint="call `to_empty` in the function, and set the values of the parameters",
        )
    return made
