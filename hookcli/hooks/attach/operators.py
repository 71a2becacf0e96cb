"""Attaches to operators, through a dispatch mode."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import torch

from hookcli.hooks.attach.attachments import Attachments, Conditions
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.resolve import Targets
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.nested import leaves
from hookcli.models.scripted import OURS
from hookcli.operators.arguments import before, written_to
from hookcli.operators.operator_run import OperatorRun
from hookcli.spec.hooks import Match

_DEVICE: Any = torch.ops.prim.device.default


class Operators(UncompiledMode):  # type: ignore[no-untyped-call]
    """The dispatch mode that fires `op` hooks.

    Each hook has the modules in whose calls it fires and the operators, or None for all.
    """

    supports_higher_order_operators = True

    def __init__(self, hooks: list[tuple[Hook, Conditions | None]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._hooks = hooks
        self._reads_inputs = any(hook.reads_inputs for hook, _ in hooks)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        reads = self._reads_inputs and func is not _DEVICE and func.namespace != OURS
        earlier = before(func, args, kwargs or {}) if reads else None
        out = func(*args, **(kwargs or {}))
        if func is _DEVICE or func.namespace == OURS:  # only fake tensors call prim.device
            return out
        name = _name(func)
        written = [] if earlier is None else _results(func, args, kwargs or {}, out)
        for hook, conditions in self._hooks:
            call = hook.context.calls.running()
            if conditions is not None and not _matches(conditions, call, name):
                continue
            site = Site("")
            if call is not None:
                site = Site(call.name or "", call.module, call.index, call.order, call.recomputed)

            def native(value: Any) -> tuple[Any, ...]:
                return func, args, kwargs or {}, value

            ran = None
            if earlier is not None and hook.reads_inputs:
                phase = hook.context.phase
                ran = OperatorRun(func, *earlier, written, sys._getframe(1), call, phase)
            new = hook.fire(site, out, native, node=name, operator=ran)
            out = out if new is None else new
        return out


def _results(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> list[torch.Tensor]:
    """Return the tensors that an operator returned, and those that it wrote to."""
    results = [tensor for _, tensor, _ in leaves(out)]
    known = {id(tensor) for tensor in results}
    return [*results, *(t for t in written_to(func, args, kwargs) if id(t) not in known)]


def _name(func: Any) -> str:
    return str(getattr(func, "name", lambda: func)()).replace("::", ".")


def _matches(conditions: Conditions, call: Any, name: str) -> bool:
    for match, modules in conditions:
        anywhere = match.op is not None and match.inside is None
        if not anywhere and (call is None or call.key not in modules):
            continue
        if match.op is None or name == match.op or name.startswith(f"{match.op}."):
            return True
    return False


def attach_operators(
    hook: Hook, targets: Targets, attachments: Attachments, _stack: ExitStack
) -> None:
    """Attach to all operators, or to the operators in the calls of these modules."""
    hook.attached += 1
    conditions: Conditions = [
        *((match, {id(module): name}) for name, module, match in targets.values),
        *((Match(), {id(module): name}) for name, module in targets.modules),
    ]
    attachments.operators.append((hook, None if hook.spec.at is None else conditions))
