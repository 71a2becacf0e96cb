"""The items of a set in an order that does not change from one process to the next."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_Rank = tuple[int, int, str, str]


def steady(items: Iterable[Any]) -> Iterable[Any]:
    """The items as they come; those of a set sorted, as they come by hashes and addresses.

    Tensors go first, by the autograd nodes that made them, then by shape and dtype.
    """
    return sorted(items, key=_rank) if isinstance(items, set | frozenset) else items


def _rank(item: Any) -> _Rank:
    if isinstance(item, torch.Tensor):
        node = item.grad_fn
        made = -1 if node is None else node._sequence_nr()
        return 0, made, str(item.dtype), "" if item.is_nested else str(list(item.shape))
    try:
        text = repr(item)
    except Exception:  # noqa: BLE001  # the user's __repr__ may raise anything
        text = ""
    return 1, 0, type(item).__name__, _ADDRESS.sub("", text)
