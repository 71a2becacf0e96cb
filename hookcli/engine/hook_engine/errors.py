"""Explains errors that hooks cause: names the hook and its place, and says what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookcli.report.findings import HookFault
from hookcli.report.recording import Failure

if TYPE_CHECKING:
    from hookcli.hooks.context import Context
    from hookcli.hooks.hook import Hook

_IN_PLACE = "BackwardHookFunction"


def explain(failure: Failure, error: BaseException, hooks: list[Hook], context: Context) -> None:
    """Put an explanation in front of the failure's message, if a hook caused it."""
    raised = context.raised
    if raised is not None and raised[0] is error:
        fault = raised[1]
        running = None if failure.call is None else failure.call.name
        if fault.target != (running or ""):  # in backward no call is running
            fault = replace(fault, problem=f"at '{fault.target}' {fault.problem}")
        _blame(failure, fault)
        failure.place = fault.function or failure.place
        return
    _explain_in_place(failure, hooks)
    if failure.hook is None and context.fault is not None:
        _blame(failure, context.fault)
        failure.place = context.fault.function or context.fault.place


def _blame(failure: Failure, fault: HookFault) -> None:
    failure.hook = fault
    failure.unblamed = (failure.message, failure.place)
    failure.message = f"the hook {fault.place} {fault.problem}: {failure.message}"


def acquit(failure: Failure) -> None:
    """Take back the blame of a hook that did not raise the error itself."""
    if failure.unblamed is not None:
        failure.hook = None
        failure.message, failure.place = failure.unblamed


def _explain_in_place(failure: Failure, hooks: list[Hook]) -> None:
    """Explain an in-place change of a tensor that a hook made a view."""
    if _IN_PLACE not in failure.message:
        return
    wrapping = [hook.spec for hook in hooks if hook.kind.wraps_values]
    if not wrapping:
        return
    spec = wrapping[0]
    name = failure.call.name if failure.call is not None else None
    layer = f"'{name}'" if name else "the model's own code"
    where = f" at {failure.place}" if failure.place else ""
    advice = "use kind tensor with `at: MODULE:output`, or remove the in-place operation"
    problem = "makes values views that must not be changed in place"
    failure.hook = HookFault(spec.place, spec.kind, name or "", problem, advice, None, raised=True)
    failure.message = (
        f"{layer} changes a tensor in place{where}, but kind {spec.kind} ({spec.place}) made it "
        "a view that must not be changed: use kind tensor with at: MODULE:output, which does not "
        f"change the graph, or remove the in-place operation. PyTorch reports: {failure.message}"
    )
