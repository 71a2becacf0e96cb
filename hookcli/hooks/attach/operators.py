"""Attaches to operators, through a dispatch mode."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hookcli.hooks.attach.attachments import Attachments, Conditions
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.resolve import Targets
from hookcli.models.scripted import OURS
from hookcli.spec.hooks import Match

_DEVICE: Any = torch.ops.prim.device.default


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The dispatch mode that fires `op` hooks.

    Each hook has the modules in whose calls it fires and the operators, or None for all.
    """

    supports_higher_order_operators = True

    def __init__(self, hooks: list[tuple[Hook, Conditions | None]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._hooks = hooks

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled, and True would import the compiler

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is _DEVICE or func.namespace == OURS:  # only fake tensors call prim.device
            return out
        name = _name(func)
        for hook, conditions in self._hooks:
            call = hook.context.calls.running()
            if conditions is not None and not _matches(conditions, call, name):
                continue
            site = Site("")
            if call is not None:
                site = Site(call.name or "", call.module, call.index, call.order, call.recomputed)

            def native(value: Any) -> tuple[Any, ...]:
                return func, args, kwargs or {}, value

            new = hook.fire(site, out, native, node=name)
            out = out if new is None else new
        return out


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
