"""Attaches to autograd's engine: to the end of a backward pass, and to saved tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets
from hookcli.models.model import Call
from hookcli.torch_private import current_graph_task_id, disable_current_modes, execution_engine


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


class _Packed:
    """The object in the graph for a saved tensor: the result of pack, and where it was saved."""

    __slots__ = ("site", "value")

    def __init__(self, value: Any, site: Site) -> None:
        self.value, self.site = value, site


class SavedTensors(Portable):
    """A pair of pack and unpack hooks, active during the calls of the modules in `names`."""

    def __init__(self, hook: Hook, names: dict[int, str] | None) -> None:
        self._hook = hook
        self._names = names  # None: active everywhere
        self._open: dict[int, AbstractContextManager[Any]] = {}

    def pack(self, tensor: torch.Tensor) -> Any:
        """Fire when an operator saves a tensor; PyTorch calls this."""
        call = self._hook.context.calls.running()
        site = Site("")
        if call is not None:
            site = Site(call.name or "", call.module, call.index, call.order, call.recomputed)
        packed = self._hook.fire(site, tensor, lambda value: (value,), node="pack")
        if packed is not None:
            return _Packed(packed, site)
        with torch.no_grad(), disable_current_modes():  # a saved output would reference its node
            return _Packed(tensor.detach(), site)

    def unpack(self, packed: Any) -> Any:
        """Fire when backward reads a saved tensor; PyTorch calls this."""
        new = self._hook.fire(packed.site, packed.value, lambda value: (value,), node="unpack")
        return packed.value if new is None else new

    def enter(self, call: Call) -> None:
        """Activate the pair when a call of one of its modules starts."""
        if self._names is not None and call.key in self._names:
            pair = saved_tensors_hooks(self.pack, self.unpack)
            pair.__enter__()
            self._open[call.order] = pair

    def leave(self, call: Call) -> None:
        """Deactivate the pair when the call ends."""
        pair = self._open.pop(call.order, None)
        if pair is not None:
            pair.__exit__(None, None, None)

    def close(self) -> None:
        """Deactivate the pairs that interrupted calls left active."""
        for order in sorted(self._open, reverse=True):
            self._open.pop(order).__exit__(None, None, None)

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        """Activate the pair for a whole forward and loss, if it has no modules of its own."""
        if self._names is not None:
            yield
            return
        with saved_tensors_hooks(self.pack, self.unpack):
            yield


def attach_saved_tensors(
    hook: Hook, targets: Targets, attachments: Attachments, stack: ExitStack
) -> None:
    """Attach the pair to the calls of these modules, or to every forward."""
    names = {id(module): name for name, module in targets.modules}
    pair = SavedTensors(hook, None if hook.spec.at is None else names)
    stack.callback(pair.close)
    attachments.saved.append(pair)
    hook.attached += 1
