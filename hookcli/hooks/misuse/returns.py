"""Checks what the user's hook returns, before PyTorch gets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from hookcli.actions.event import Event
from hookcli.catalogue.kind import Moment, Returned
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.hooks.misuse.faults import Function, fault_of
from hookcli.models.nested import dtype_name, leaves, shape_of
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import HookSpec
from hookcli.text import counted, join_names, pluralize


def check_return(
    spec: HookSpec, event: Event, result: Any, function: Function | None, context: Context
) -> bool:
    """Whether to pass a returned value on to PyTorch; a wrong value is reported as a finding.

    PyTorch uses every return that is not None. Values with which the run could not continue are
    dropped. Values that only look wrong are passed on, as in plain PyTorch; if the run fails after
    one, the error names the hook.
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
    if spec.options.get("with_kwargs") and kind.moment is Moment.BEFORE_FORWARD:
        if _is_pair(result):
            return True
        message = f"the hook must return (args, kwargs) or None, got {what}: it was not used"
        _tell(spec, event, context, message)
        return False
    problem = unlike(event.value, result, arguments=kind.moment is Moment.BEFORE_FORWARD)
    if problem is not None:
        text, severity = problem
        if severity is not None:
            message = f"the hook {text}, and PyTorch uses it: return None to change nothing"
            _tell(spec, event, context, message, severity)
        where = f"{text} at '{event.target or 'the model'}'"
        context.fault = fault_of(spec, event.target, where, _LIKE, function)
    return True


_LIKE = "return None to change nothing, or a value with the structure, shapes and dtypes of the old"


def check_unpacked(
    spec: HookSpec, event: Event, function: Function | None, context: Context
) -> None:
    """Report a saved tensor that is not a tensor after `unpack`: PyTorch raises an error then."""
    if isinstance(event.value, torch.Tensor):
        return
    what = f"must return a tensor from unpack, but the result is {type(event.value).__name__}"
    _tell(spec, event, context, f"the hook {what}")
    advice = "define `unpack(object) -> tensor`, which returns the tensor that pack was given"
    context.fault = fault_of(spec, event.target, what, advice, function)


def _is_pair(result: Any) -> bool:
    """Whether this is a pair (args, kwargs)."""
    return (
        isinstance(result, tuple)
        and len(result) == 2
        and isinstance(result[0], tuple | list)
        and isinstance(result[1], dict)
    )


def unlike(
    old: Any, new: Any, *, arguments: bool
) -> tuple[str, Literal["error", "warning"] | None] | None:
    """Return how a returned value differs from the one it replaces, and whether that is misuse.

    A value of another type, or without tensors, is an error; another number of items is a warning;
    another shape, dtype or device is neither, but the model may fail on it. `arguments`: the values
    are arguments of a call, for which a value that is not a tuple is the only one.
    """
    new = (new,) if arguments and not isinstance(new, tuple) else new
    before, after = leaves(old), leaves(new)
    kind = type(new[0] if arguments and len(new) == 1 else new).__name__
    if before and not after:
        return f"returned {_counted(kind, new)} instead of {_a(old, before)}", "error"
    if isinstance(old, torch.Tensor) and not isinstance(new, torch.Tensor):
        return f"returned {kind} instead of a tensor", "error"
    if isinstance(old, tuple | list) and isinstance(new, tuple | list) and len(old) != len(new):
        return f"returned {len(new)} {pluralize(len(new), 'item')} instead of {len(old)}", "warning"
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() != new.keys():
        keys = [*(old.keys() - new.keys()), *(new.keys() - old.keys())]
        return f"returned other keys: {join_names([str(key) for key in keys])}", "warning"
    if not isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and not arguments:
        return f"returned a tensor instead of {type(old).__name__}", "warning"
    sorts = {path: _sort(tensor) for path, tensor, _ in before}
    devices = {path: tensor.device for path, tensor, _ in before}
    for path, tensor, _ in after:
        if path in sorts and (sorts[path], devices[path]) != (_sort(tensor), tensor.device):
            there = "" if tensor.device == devices[path] else f" on {tensor.device}"
            return f"returned {_sort(tensor)}{there} instead of {sorts[path]}", None
    return None


def _a(old: Any, tensors: Sequence[Any]) -> str:
    if isinstance(old, torch.Tensor) or (isinstance(old, tuple) and len(old) == len(tensors) == 1):
        return "a tensor"
    return f"the {type(old).__name__} with {counted(len(tensors), 'tensor')}"


def _counted(kind: str, value: Any) -> str:
    return f"an empty {kind}" if isinstance(value, tuple | list | dict) and not value else kind


_TENSORS = {Returned.LIKE, Returned.TENSOR, Returned.ANYTHING}


def _are_arguments(result: Any) -> bool:
    """Whether this is a pair (args, kwargs), the arguments of an optimizer's step."""
    return isinstance(result, tuple) and list(map(type, result)) == [tuple, dict]


def _are_entries(result: Any, own: Any) -> bool:
    """Whether this is a mapping with new values for entries of a state dict."""
    return isinstance(result, dict) and isinstance(own, dict) and result.keys() <= own.keys()


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
    if returned is Returned.LIKE and _sorts(value, result)[0] != _sorts(value, result)[1]:
        _tell(
            spec,
            event,
            context,
            "the hook must return {}, got {}: it was not used".format(*_sorts(value, result)),
        )
        return False
    return True


def _misfit(values: tuple[Any, ...], returned: tuple[Any, ...]) -> str | None:
    """Return what the hook must return and what it returned; None if torch accepts it."""
    if len(returned) != len(values):
        return f"a tuple of length {len(values)}, got length {len(returned)}"
    for i, (old, new) in enumerate(zip(values, returned, strict=True)):
        if new is None:
            continue
        if not isinstance(new, torch.Tensor):
            return f"a tensor or None at [{i}], got {type(new).__name__}"
        if old is None:
            return f"None at [{i}], which has no gradient, got {_sort(new)}"
        expected, got = _sorts(old, new)
        if expected != got:
            return f"{expected} at [{i}], got {got}"
    return None


def _sort(tensor: torch.Tensor) -> str:
    return f"{dtype_name(tensor.dtype)} of shape {list(shape_of(tensor))}"


def _sorts(old: torch.Tensor, new: torch.Tensor) -> tuple[str, str]:
    """Return dtype and shape of two tensors, with their devices if these differ."""
    if old.device == new.device:
        return _sort(old), _sort(new)
    return f"{_sort(old)} on {old.device}", f"{_sort(new)} on {new.device}"


def _tell(
    spec: HookSpec,
    event: Event,
    context: Context,
    message: str,
    severity: Literal["error", "warning"] = "error",
) -> None:
    problem = f"{spec.kind} returns"
    context.find(HookFinding("hook_misuse", event.target, problem, message, spec.place, severity))
