"""What collectives send, counted where Python hands them to torch, on whatever thread.

A rank of n that carries out a collective by a ring sends, of a tensor of S bytes: all-reduce
2 S (n-1)/n, reduce-scatter S (n-1)/n, all-gather of its own part of S bytes S (n-1), broadcast and
reduce S, all-to-all S (n-1)/n. These are the factors of the bus bandwidth in NVIDIA's nccl-tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed import ProcessGroup

_Share = Callable[[int, int], float]


def ring_all_reduce(size: int, world: int) -> float:
    """Bytes that a rank sends."""
    return 2 * size * (world - 1) / world


def _part(size: int, world: int) -> float:
    return size * (world - 1) / world


def _whole(size: int, world: int) -> float:
    return size * (world - 1)


def _once(size: int, world: int) -> float:
    return float(size) if world > 1 else 0.0


# The method of a process group, which of its arguments holds what this rank gives, its factor.
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
    """Bytes by whatever is being averaged; what `then` runs later counts for the same."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._sent: dict[Any, float] = {}
        self._lock = threading.Lock()
        self.sent_later = False  # a callback sent something
        self.raised: BaseException | None = None  # by a callback: torch passes on its text alone

    @contextmanager
    def counting(self, key: Any) -> Iterator[None]:
        """What this thread sends meanwhile is of `key`; None stops the count."""
        before = getattr(self._here, "key", None)
        self._here.key = key
        if key is not None:
            self._sent.setdefault(key, 0.0)
        try:
            yield
        finally:
            self._here.key = before

    def sent(self, key: Any) -> int:
        """The bytes so far, rounded."""
        return round(self._sent.get(key, 0.0))

    @contextmanager
    def tapped(self) -> Iterator[None]:
        """Collectives and futures tell of themselves."""
        kept: list[tuple[type, str, Any]] = []
        for name in _COLLECTIVES:
            if hasattr(ProcessGroup, name):
                kept.append((ProcessGroup, name, getattr(ProcessGroup, name)))
                setattr(ProcessGroup, name, self._counted(name, kept[-1][2]))
        for future in (torch._C.Future, torch.futures.Future):
            if "then" in vars(future):
                kept.append((future, "then", vars(future)["then"]))
                future.then = self._carried(kept[-1][2])  # type: ignore[method-assign]
        try:
            yield
        finally:
            for owner, name, original in kept:
                setattr(owner, name, original)

    def _counted(self, name: str, original: Any) -> Any:
        position, share = _COLLECTIVES[name]

        def counted(group: ProcessGroup, *args: Any, **kwargs: Any) -> Any:
            key = getattr(self._here, "key", None)
            if key is not None:
                given = args[position] if len(args) > position else list(kwargs.values())[position]
                sent = share(_bytes(given), group.size())
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
