"""Checks what the user's hook returns, before PyTorch gets it."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.actions.event import Event
from hookcli.catalogue.kind import Returned
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.models.nested import dtype_name, leaves, shape_of
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import HookSpec


def check_return(spec: HookSpec, event: Event, result: Any, context: Context) -> bool:
    """Whether to pass a returned value on to PyTorch; a wrong value is reported as a finding.

    PyTorch uses every return that is not None. Values with which the run could not continue are
    dropped. Values that only look wrong are passed on, as in plain PyTorch.
    """
    kind = CATALOGUE[spec.kind]
    what = type(result).__name__
    if kind.returned is Returned.ARGUMENTS and _are_arguments(result):
        return True
    if kind.returned is Returned.ENTRIES and not _are_entries(result, event.value):
        message = f"the hook must return None, got {what}: change the dictionary in place"
        _tell(spec, event, context, message)
        return False
    if not kind.replaces:
        _tell(spec, event, context, f"the hook must return None, got {what}")
        return False
    if isinstance(event.value, tuple) and "backward" in kind.phases:
        misfit = _misfit(event.value, result if isinstance(result, tuple) else (result,))
        if misfit is not None:
            _tell(spec, event, context, f"the hook must return {misfit}: it was not used")
        return misfit is None
    if isinstance(event.value, torch.Tensor) and kind.returned in _TENSORS:
        return _fits(spec, event, result, context)
    if isinstance(event.value, torch.Tensor) and leaves(result) and not _is_tensor(result):
        _tell(
            spec,
            event,
            context,
            f"the hook returned {what} instead of a tensor, and PyTorch passes it on",
        )
        return True
    before, after = leaves(event.value), leaves(result)
    if before and not after and not isinstance(result, tuple):
        _tell(
            spec,
            event,
            context,
            f"the hook returned {what} without a tensor, and PyTorch uses it instead of the "
            f"{type(event.value).__name__}: return None to change nothing",
        )
    return True


_TENSORS = {Returned.LIKE, Returned.TENSOR, Returned.ANYTHING}


def _are_arguments(result: Any) -> bool:
    """Whether this is a pair (args, kwargs), the arguments of an optimizer's step."""
    return isinstance(result, tuple) and list(map(type, result)) == [tuple, dict]


def _are_entries(result: Any, own: Any) -> bool:
    """Whether this is a mapping with new values for entries of a state dict."""
    return isinstance(result, dict) and isinstance(own, dict) and result.keys() <= own.keys()


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _fits(spec: HookSpec, event: Event, result: Any, context: Context) -> bool:
    returned = CATALOGUE[spec.kind].returned
    if not isinstance(result, torch.Tensor):
        if returned is Returned.ANYTHING:
            return True
        _tell(
            spec,
            event,
            context,
            f"the hook must return a tensor or None, got {type(result).__name__}: it was not used",
        )
        return False
    value = event.value
    if returned is Returned.LIKE and (result.shape != value.shape or result.dtype != value.dtype):
        _tell(
            spec,
            event,
            context,
            f"the hook must return {_sort(value)}, got {_sort(result)}: it was not used",
        )
        return False
    return True


def _misfit(expected: tuple[Any, ...], returned: tuple[Any, ...]) -> str | None:
    """Return what the hook must return and what it returned; None if torch accepts it."""
    if len(returned) != len(expected):
        return f"a tuple of length {len(expected)}, got length {len(returned)}"
    for i, (old, new) in enumerate(zip(expected, returned, strict=True)):
        if new is None:
            continue
        if not isinstance(new, torch.Tensor):
            return f"a tensor or None at [{i}], got {type(new).__name__}"
        if old is None:
            return f"None at [{i}], which has no gradient, got {_sort(new)}"
        if _sort(old) != _sort(new):
            return f"{_sort(old)} at [{i}], got {_sort(new)}"
    return None


def _sort(tensor: torch.Tensor) -> str:
    return f"{dtype_name(tensor.dtype)} of shape {list(shape_of(tensor))}"


def _tell(spec: HookSpec, event: Event, context: Context, message: str) -> None:
    problem = f"{spec.kind} returns"
    context.find(HookFinding("hook_misuse", event.target, problem, message, spec.place))
