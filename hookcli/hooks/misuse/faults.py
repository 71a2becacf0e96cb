"""Faults: what a hook did that the run may fail on later, or that ended it at once.

A fault is not a finding: it becomes part of the error if the run fails after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.models import places
from hookcli.report.findings import HookFault
from hookcli.spec.hooks import HookSpec

Function = Callable[..., Any]


def fault_of(
    spec: HookSpec,
    target: str,
    problem: str,
    advice: str,
    function: Function | None = None,
    *,
    raised: bool = False,
) -> HookFault:
    """Return the fault of a hook; `problem` follows "the hook", `advice` is an imperative."""
    place = None if function is None else place_of(function)
    return HookFault(spec.place, spec.kind, target, problem, advice, place, raised)


def place_of(function: Function) -> str | None:
    """Return the line at which a function is defined; None if it is not Python."""
    code = _code(function)
    return None if code is None else f"{places.show(code.co_filename)}:{code.co_firstlineno}"


def _code(function: Any) -> Any:
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        function = vars(type(function)).get("__call__")  # of an object that can be called
    return getattr(function, "__code__", None)


def raised(
    spec: HookSpec, target: str, error: BaseException, function: Function | None
) -> HookFault:
    """Return the fault of a hook that raised an error.

    If its function never began, its parameters do not fit what PyTorch passes to it.
    """
    problem = "raised this error"
    if function is None:
        return fault_of(spec, target, problem, _REMOVE, raised=True)
    began = _code(function) is None or _reached(error, _code(function))
    if began or not isinstance(error, TypeError):
        where = None if began else function  # else the error has the line
        return fault_of(spec, target, problem, _CORRECT, where, raised=True)
    advice = f"define the function as `{signature(spec)}`"
    return fault_of(spec, target, problem, advice, function, raised=True)


_REMOVE = "check the layers that run before this hook, or remove the action from its `do`"
_CORRECT = "correct the function of the hook, or remove the hook to run the model without it"


def _reached(error: BaseException, code: Any) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False


def signature(spec: HookSpec) -> str:
    """Return the signature that a function of this hook must have."""
    if any(getattr(action.argument, "signature", None) == "event" for action in spec.actions):
        return "hook(event)"
    first, *others = CATALOGUE[spec.kind].signature.split("; ")
    for other in others:
        option, colon, text = other.partition(": ")
        if colon and spec.options.get(option.split()[0]) in {True, *option.split()[1:]}:
            return text
    return first
