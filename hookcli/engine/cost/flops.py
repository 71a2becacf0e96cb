"""Counts the FLOPs of operators, for the call that ran them.

hookcli has its own dispatch mode because torch's FlopCounterMode installs global module hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Protocol

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.engine.cost.formulas import flops_of
from hookcli.models import module_tree
from hookcli.models.bits import sized_storage
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.model import CallInputs
from hookcli.models.nested import argument_leaves, leaves
from hookcli.models.scripted import OURS, lost
from hookcli.report.recording import CallNote, Ledger

_DEVICE: Any = torch.ops.prim.device.default


class OperatorFollower(Protocol):
    """Something that follows operators while `follows` is true."""

    follows: bool

    def operator(self, func: Any, args: tuple[Any, ...], out: Any) -> None:
        """Handle an operator that ran."""
        ...


class OperatorCounter(UncompiledMode):  # type: ignore[no-untyped-call]
    """Adds each operator's FLOPs to the running call, which `running()` returns, or None.

    `parameters` are the ids of tensors whose use is noted in `used`. `follower` gets the operators
    of forward as long as it follows them.
    """

    supports_higher_order_operators = True

    def __init__(
        self,
        running: Callable[[], Ledger | None],
        parameters: Set[int] = frozenset(),
        follower: OperatorFollower | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._running = running
        self._parameters = parameters
        self._follower = follower
        self.used: set[int] = set()  # the ids of `parameters` that were arguments of operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            out = func(*args, **(kwargs or {}))
        except BaseException as error:
            lost.note(error)
            raise
        if func is _DEVICE or func.namespace == OURS:  # fake tensors call prim.device often
            return out
        note = self._running()
        if isinstance(note, CallNote):
            for argument in args:
                if id(argument) in self._parameters:
                    self.used.add(id(argument))
            if self._follower is not None and self._follower.follows:
                self._follower.operator(func, args, out)
        if note is not None:
            count = flops_of(func, args, kwargs or {}, out)
            if count is None:
                note.unknown[_name(func)] += 1
            else:
                note.flops += count
        return out


def _name(func: Any) -> str:
    packet = getattr(func, "overloadpacket", func)
    namespace = getattr(func, "namespace", "")
    name = str(getattr(packet, "__name__", packet))
    return f"{namespace}.{name}" if namespace else name


class Activations:
    """Counts the bytes of activations: of the storages of outputs, for the first call of each.

    The batch and the model's own tensors are not activations.
    """

    def __init__(self, root: torch.nn.Module, batch: CallInputs) -> None:
        self._seen: dict[int, Any] = {}
        model_tensors = [
            t
            for table in ("_parameters", "_buffers")
            for t, _, _ in module_tree.tensors(root, table)
        ]
        for tensor in (*model_tensors, *(t for _, t, _ in argument_leaves(*batch))):
            self._first(tensor)

    def _first(self, tensor: torch.Tensor) -> int | None:
        """Return the bytes of a new storage, 0 for a known one, None if there is no storage."""
        sized = sized_storage(tensor)
        if sized is None:
            return None
        storage, size = sized
        key = storage._cdata
        known = self._seen.get(key)
        if known is not None and not known.expired():
            return 0
        # A weak reference prevents reuse of the address without keeping the memory alive.
        self._seen[key] = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        return size

    def of(self, output: Any) -> int | None:
        """Return the bytes that an output adds; None if they are unknown for one of its tensors."""
        if type(output) is torch.Tensor:  # most outputs
            return self._first(output)
        sizes = [self._first(tensor) for _, tensor, _ in leaves(output)]
        return None if None in sizes else sum(size for size in sizes if size)
