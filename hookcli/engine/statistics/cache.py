"""A cache, so that the statistics of one tensor are not computed twice.

A layer's output is also the next layer's input and its container's output. The same holds for their
gradients, and for the terms that a container and its first layer send to their input.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.torch_private import current_graph_task_id

_LEAST = 4096  # elements; for fewer, computing is as fast as a lookup
_KEPT = 16  # the number of results that are kept

_Alive = Callable[[], bool]


class StatisticsCache:
    """A function of one or more tensors that caches its last results.

    The cache does not keep tensors alive. A result is used again for the same memory with the same
    shape, strides and dtype, if it was not written since.
    """

    def __init__(self, measure: Callable[..., dict[str, Any] | None]) -> None:
        self._measure = measure
        self._known: OrderedDict[Any, tuple[list[_Alive], dict[str, Any] | None]] = OrderedDict()

    def __call__(self, *tensors: torch.Tensor) -> dict[str, Any] | None:
        """Return the statistics of the tensors."""
        key = tuple([_key(tensor) for tensor in tensors])
        if None in key:
            return self._measure(*tensors)
        known = self._known.get(key)
        if known is not None and all(alive() for alive in known[0]):
            return known[1]
        figures = self._measure(*tensors)
        if _task() == -1:
            alive = _memory
        else:
            alive = _gradient
            self._forget_lost()  # before a tensor gets its former memory again
        self._known[key] = ([alive(tensor) for tensor in tensors], figures)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return figures

    def _forget_lost(self) -> None:
        """Remove the results of tensors that no longer have the memory that was measured."""
        for key, (alive, _) in list(self._known.items()):
            if not all(lives() for lives in alive):
                del self._known[key]


_task = current_graph_task_id  # the id of the running backward pass, or -1


def _memory(tensor: torch.Tensor) -> _Alive:
    """Return a function that tells whether the storage is alive, so its memory was not reused."""
    reference = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
    return lambda: not reference.expired()  # type: ignore[no-untyped-call]


def _gradient(tensor: torch.Tensor) -> _Alive:
    """Return the same function for a tensor of a backward pass, whose storage must not be read.

    Reading it would make torch treat the storage as shared, and then torch no longer adds gradients
    in place. So the function tells whether the tensor is alive. Outside of backward that is not
    enough, as a tensor may get other memory (`.data = ...`).
    """
    reference = weakref.ref(tensor)
    address = tensor.data_ptr()

    def lives() -> bool:
        known = reference()
        if known is None:
            return False
        known._fix_weakref()  # type: ignore[attr-defined]  # only torch may have referenced it
        return known.data_ptr() == address

    return lives


def _key(tensor: torch.Tensor) -> Any:
    """Return what the statistics of a plain tensor depend on; None for other and small tensors."""
    kind = type(tensor)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return None
    if tensor.layout is not torch.strided or tensor.numel() < _LEAST or tensor.is_inference():
        return None
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # a tensor of a function transform has no memory
        return None
    if not address:
        return None
    return (
        address,
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor._version,
        tensor.is_conj(),
        tensor.is_neg(),
        tensor.device,
        _task(),
    )
