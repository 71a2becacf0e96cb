"""Reading the autograd graph that a module's call made, without putting anything into it.

Nodes carry numbers that grow as they are made on a thread: those of a call lie between its
beginning and its end (torch.autograd._get_sequence_nr).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import get_gradient_edge

Edge: TypeAlias = tuple[Any, int]
ACCUMULATE = 1 << 63  # AccumulateGrad nodes have the number 2**64 - 1


def edge_of(tensor: torch.Tensor) -> Edge:
    """The node that made a tensor, and which of its outputs it is."""
    node = tensor.grad_fn
    if node is None:  # a leaf's node is made when it is asked for
        node = get_gradient_edge(tensor).node
    return node, tensor.output_nr


def current_node() -> Any:
    """The autograd node that is running on this thread; None outside of backward."""
    return torch._C._current_autograd_node()


def nodes_since(outputs: Iterable[torch.Tensor], since: int) -> list[Any]:
    """The nodes behind these tensors made at or after the number `since`, in that order."""
    todo = [t.grad_fn for t in outputs if t.grad_fn is not None]
    seen: set[Any] = set()
    while todo:
        node: Any = todo.pop()
        if node is None or node in seen or not since <= node._sequence_nr() < ACCUMULATE:
            continue
        seen.add(node)
        todo += [following for following, _ in node.next_functions]
    return sorted(seen, key=lambda node: node._sequence_nr())


def let_go(nodes: set[Any] | list[Any]) -> None:
    """Empty this collection, and free the graph that only it still holds, from its end on.

    Once Python has looked at a graph's nodes torch frees it by recursion, which a chain of 50,000
    operators does not survive.
    """
    held = deque(sorted(nodes, key=lambda node: -int(node._sequence_nr())))
    nodes.clear()
    while held:
        held.popleft()


class Ranges:
    """The numbers that a call's children took: what is left is its own."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """A child's call made the nodes from `start` to `end`."""
        if end > start:
            self._starts.append(start)
            self._ends.append(end)

    def __contains__(self, number: int) -> bool:
        i = bisect_right(self._starts, number) - 1
        return i >= 0 and number < self._ends[i]
