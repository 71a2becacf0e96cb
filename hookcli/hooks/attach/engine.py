"""Attaches to autograd's engine: to the end of a backward pass, and to saved tensors."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from hookcli.hooks.attach.attachments import Attachments, SavedTensors
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets
from hookcli.torch_private import current_graph_task_id, execution_engine


class Callback(Portable):
    """A callback at the end of a backward pass."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self) -> None:
        """Fire; PyTorch calls this."""
        self._hook.fire(Site(""), None, lambda _: ())


class Queue(Portable):
    """A tensor hook where backward starts; callbacks can be queued only during backward."""

    def __init__(self, hooks: list[Hook]) -> None:
        self._hooks = hooks
        self._task = -1

    def __call__(self, _gradient: Any) -> None:
        """Queue the callbacks once per pass; PyTorch calls this for each tensor it is on."""
        task = current_graph_task_id()
        if task == self._task:
            return
        self._task = task
        engine: Any = execution_engine
        for hook in self._hooks:
            engine.queue_callback(Callback(hook))

    def stand_on(self, tensors: list[torch.Tensor]) -> None:
        """Register on these tensors, to fire in a pass that reaches one of them."""
        for tensor in tensors:
            tensor.register_hook(self)  # type: ignore[no-untyped-call]
        for hook in self._hooks:
            hook.attached += bool(tensors)


def attach_saved_tensors(
    hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack
) -> None:
    """Attach the pair to the calls of these modules, or to every forward."""
    names = {id(module): name for name, module in targets.modules}
    pair = SavedTensors(hook, None if hook.spec.at is None else names)
    stack.callback(pair.close)
    attachments.saved.append(pair)
    hook.attached += 1
