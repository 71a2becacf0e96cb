"""The hooks of one model that must be told when its calls begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import saved_tensors_hooks

from hookcli.hooks.attach.call_tensors import CallTensorHooks
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.models.model import Call
from hookcli.spec.hooks import Match
from hookcli.torch_private import disable_current_modes

Conditions: TypeAlias = list[tuple[Match, dict[int, str]]]


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


@dataclass(slots=True)
class Attachments:
    """The hooks that follow the calls of a run.

    `calls` are hooks on the tensors of calls, `saved` the pairs of saved_tensors hooks. `operators`
    are hooks on operators with the modules in whose calls they fire, None for all. `late` are
    registrations that wait for the end of a forward.
    """

    calls: CallTensorHooks = field(default_factory=CallTensorHooks)
    saved: list[SavedTensors] = field(default_factory=list)
    operators: list[tuple[Hook, Conditions | None]] = field(default_factory=list)
    late: list[Callable[[], None]] = field(default_factory=list)
