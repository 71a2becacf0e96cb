"""Reads the autograd graph of a module's call, without adding anything to it.

The numbers of nodes grow as a thread creates them, so the nodes of a call have the numbers between
its beginning and its end (`next_sequence_nr`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import get_gradient_edge

from hookcli.torch_private import current_autograd_node

Edge: TypeAlias = tuple[Any, int]
_PACKED = object()  # stands for hooks that an older torch does not show
ACCUMULATE = 1 << 63  # AccumulateGrad nodes have the number 2**64 - 1


def edge_of(tensor: torch.Tensor) -> Edge:
    """Return the node that made a tensor, and the index of the tensor among its outputs."""
    node = tensor.grad_fn
    if node is None:  # the node of a leaf is created on demand
        node = _leaf_node(tensor)
    return node, tensor.output_nr


def _leaf_node(tensor: torch.Tensor) -> Any:
    if tensor.layout is torch.strided:
        return get_gradient_edge(tensor).node
    with torch.enable_grad():  # torch's function makes a view, which a sparse tensor cannot have
        copy: Any = tensor.clone()
    return copy.grad_fn.next_functions[0][0]


def current_node() -> Any:
    """Return the autograd node that is running on this thread; None outside of backward."""
    return current_autograd_node()


def nodes_since(outputs: Iterable[torch.Tensor], since: int) -> list[Any]:
    """Return the nodes of these tensors' graph with numbers from `since` on, in that order."""
    todo = [t.grad_fn for t in outputs if t.grad_fn is not None]
    seen: set[Any] = set()
    while todo:
        node: Any = todo.pop()
        if node is None or node in seen or not since <= node._sequence_nr() < ACCUMULATE:
            continue
        seen.add(node)
        todo += [following for following, _ in node.next_functions]
    return in_order(seen)


def in_order(nodes: Iterable[Any]) -> list[Any]:
    """Return these nodes as they were created; something must keep their graph alive."""
    return sorted(nodes, key=lambda node: node._sequence_nr())


def saved_tensor(node: Any, name: str) -> torch.Tensor | None:
    """Return the tensor that a node saved under a name, without calling any hook.

    None if hooks packed it, as checkpoints do, it was freed, or this version of torch saves no such
    tensor; always None before torch 2.10.
    """
    try:
        saved = getattr(node, f"_raw_saved_{name}")
        if getattr(saved, "unpack_hook", _PACKED) is not None:
            return None
        data = saved.data
    except (RuntimeError, AttributeError):  # freed: the model ran backward itself
        return None
    return data if isinstance(data, torch.Tensor) else None


def let_go(nodes: list[Any]) -> None:
    """Empty this list of nodes in order and free them one by one, the last created first.

    After Python has accessed the nodes of a graph, torch frees them recursively, which overflows
    the stack for a chain of 50,000 operators. The nodes are not asked anything: before torch 2.13,
    Python does not keep the node of a custom Function alive.
    """
    while nodes:
        nodes.pop()


class Ranges:
    """The ranges of node numbers of a call's children; the other nodes are the call's own."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Add a child's call, which made the nodes from `start` up to `end`."""
        if end > start:
            self._starts.append(start)
            self._ends.append(end)

    def __contains__(self, number: int) -> bool:
        i = bisect_right(self._starts, number) - 1
        return i >= 0 and number < self._ends[i]
