"""Statistics that are not computed twice.

A layer's output is the next one's input, and its container's output too; so are their gradients,
and the terms that a container and its first layer send to their input.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_LEAST = 4096  # elements: below it computing is as fast as looking up
_KEPT = 16  # the last so many measurements

_Alive = Callable[[], bool]


class StatisticsCache:
    """A function that measures a tensor, or several together, with a memory of the last.

    It keeps none of them alive.

    What is remembered holds for the same memory, seen in the same way, and not written since.
    """

    def __init__(self, measure: Callable[..., dict[str, Any] | None]) -> None:
        self._measure = measure
        self._known: OrderedDict[Any, tuple[list[_Alive], dict[str, Any] | None]] = OrderedDict()

    def __call__(self, *tensors: torch.Tensor) -> dict[str, Any] | None:
        """Their figures."""
        key = tuple([_key(tensor) for tensor in tensors])
        if None in key:
            return self._measure(*tensors)
        known = self._known.get(key)
        if known is not None and all(alive() for alive in known[0]):
            return known[1]
        figures = self._measure(*tensors)
        alive = _gradient if _task() != -1 else _memory
        self._known[key] = ([alive(tensor) for tensor in tensors], figures)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return figures


_task = torch._C._current_graph_task_id  # of the backward pass that is running, or -1


def _memory(tensor: torch.Tensor) -> _Alive:
    """Whether the memory is still what it was, and not used again: its storage lives."""
    reference = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
    return lambda: not reference.expired()  # type: ignore[no-untyped-call]


def _gradient(tensor: torch.Tensor) -> _Alive:
    """The same within a backward pass, where the storage must not be asked for.

    Torch would no longer take it for its own, and adds gradients in place only to such. So it is
    the tensor that lives, which elsewhere could have been given other memory (`.data = ...`).
    """
    reference = weakref.ref(tensor)
    address = tensor.data_ptr()

    def lives() -> bool:
        known = reference()
        if known is None:
            return False
        known._fix_weakref()  # type: ignore[attr-defined]  # if only torch held it, it wakes
        return known.data_ptr() == address

    return lives


def _key(tensor: torch.Tensor) -> Any:
    """What the figures of a plain tensor depend on; None for others, and for small ones."""
    kind = type(tensor)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return None
    if tensor.layout is not torch.strided or tensor.numel() < _LEAST or tensor.is_inference():
        return None
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # of a function transform: there is no memory
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
