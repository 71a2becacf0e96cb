"""Explains errors that hooks cause: names the hook and its place, and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hookcli.report.recording import Failure

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook

_Raised: TypeAlias = tuple[BaseException, str]
_IN_PLACE = "BackwardHookFunction"


def explain(
    failure: Failure, error: BaseException, hooks: list[Hook], raised: _Raised | None
) -> None:
    """Put an explanation in front of the failure's message, if a hook caused it."""
    if raised is not None and raised[0] is error:
        failure.hook = raised[1]
        failure.message = f"the hook {raised[1]} raised this error: {failure.message}"
        return
    if _IN_PLACE not in failure.message:
        return
    wrapping = [hook.spec for hook in hooks if hook.kind.wraps_values]
    if not wrapping:
        return
    spec = wrapping[0]
    name = failure.call.name if failure.call is not None else None
    layer = f"'{name}'" if name else "the model's own code"
    where = f" at {failure.place}" if failure.place else ""
    failure.message = (
        f"{layer} changes a tensor in place{where}, but kind {spec.kind} ({spec.place}) made it "
        "a view that must not be changed: use kind tensor with at: MODULE:output, which does not "
        f"change the graph, or remove the in-place operation. PyTorch reports: {failure.message}"
    )
