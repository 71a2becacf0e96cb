"""Counts the bytes that collectives send, where Python passes them to torch, on any thread.

With a ring of n ranks and a tensor of S bytes, one rank sends: all-reduce 2 S (n-1)/n,
reduce-scatter S (n-1)/n, all-gather of its own part of S bytes S (n-1), broadcast and reduce S,
all-to-all S (n-1)/n. These are the factors of the bus bandwidth in NVIDIA's nccl-tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed import ProcessGroup

from hookcli.torch_private import Future

_Share = Callable[[int, int], float]


def ring_all_reduce(size: int, world: int) -> float:
    """Return the bytes that a rank sends for an all-reduce of `size` bytes."""
    return 2 * size * (world - 1) / world


def _part(size: int, world: int) -> float:
    return size * (world - 1) / world


def _whole(size: int, world: int) -> float:
    return size * (world - 1)


def _once(size: int, world: int) -> float:
    return float(size) if world > 1 else 0.0


# Method of a process group → the index of the argument that this rank sends, and its factor.
_COLLECTIVES: dict[str, tuple[int, _Share]] = {
    "allreduce": (0, ring_all_reduce),
    "allreduce_coalesced": (0, ring_all_reduce),
    "reduce_scatter": (1, _part),
    "_reduce_scatter_base": (1, _part),
    "reduce_scatter_tensor_coalesced": (1, _part),
    "allgather": (1, _whole),
    "_allgather_base": (1, _whole),
    "allgather_into_tensor_coalesced": (1, _whole),
    "broadcast": (0, _once),
    "reduce": (0, _once),
    "alltoall": (1, _part),
    "alltoall_base": (1, _part),
    "send": (0, _once),
}


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, list | tuple):
        return sum(map(_bytes, value))
    return 0


class Wire:
    """Counts bytes by key; what a callback of `Future.then` sends counts for the same key."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._sent: dict[Any, float] = {}
        self._lock = threading.Lock()
        self.sent_later = False  # whether a callback sent something
        # The error of a callback, of which torch passes on only the text.
        self.raised: BaseException | None = None

    @contextmanager
    def counting(self, key: Any) -> Iterator[None]:
        """Count for `key` what this thread sends in the block; with None, count nothing."""
        before = getattr(self._here, "key", None)
        self._here.key = key
        if key is not None:
            self._sent.setdefault(key, 0.0)
        try:
            yield
        finally:
            self._here.key = before

    def sent(self, key: Any) -> int:
        """Return the bytes that were counted for `key`, rounded."""
        return round(self._sent.get(key, 0.0))

    @contextmanager
    def tapped(self) -> Iterator[None]:
        """Patch the collectives of process groups and `Future.then`, to count what they send."""
        originals: list[tuple[type, str, Any]] = []
        for name in _COLLECTIVES:
            if hasattr(ProcessGroup, name):
                originals.append((ProcessGroup, name, getattr(ProcessGroup, name)))
                setattr(ProcessGroup, name, self._counted(name, originals[-1][2]))
        for future in (Future, torch.futures.Future):
            if "then" in vars(future):
                originals.append((future, "then", vars(future)["then"]))
                future.then = self._carried(originals[-1][2])  # type: ignore[method-assign]
        try:
            yield
        finally:
            for owner, name, original in originals:
                setattr(owner, name, original)

    def _counted(self, name: str, original: Any) -> Any:
        position, share = _COLLECTIVES[name]

        def counted(group: ProcessGroup, *args: Any, **kwargs: Any) -> Any:
            key = getattr(self._here, "key", None)
            if key is not None:
                value = args[position] if len(args) > position else list(kwargs.values())[position]
                sent = share(_bytes(value), group.size())
                with self._lock:
                    self._sent[key] += sent
                self.sent_later |= getattr(self._here, "later", False)
            return original(group, *args, **kwargs)

        return counted

    def _carried(self, original: Any) -> Any:
        def then(future: Any, callback: Any) -> Any:
            key = getattr(self._here, "key", None)
            if key is None:
                return original(future, callback)

            def run(done: Any) -> Any:
                self._here.later = True
                try:
                    with self.counting(key):
                        return callback(done)
                except BaseException as error:
                    self.raised = self.raised or error
                    raise
                finally:
                    self._here.later = False

            return original(future, run)

        return then
