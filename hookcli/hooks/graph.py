"""Reading the autograd graph that a module's call made, without putting anything into it.

Nodes carry numbers that grow as they are made on a thread: those of a call lie between its
beginning and its end (torch.autograd._get_sequence_nr).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import get_gradient_edge
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.hooks.portable import Portable

Edge: TypeAlias = tuple[Any, int]
_ACCUMULATE = 1 << 63  # AccumulateGrad nodes have the number 2**64 - 1


def edge_of(tensor: torch.Tensor) -> Edge:
    """The node that made a tensor, and which of its outputs it is."""
    edge = get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def current_node() -> Any:
    """The autograd node that is running on this thread; None outside of backward."""
    return torch._C._current_autograd_node()


def nodes_since(outputs: Iterable[torch.Tensor], since: int) -> list[Any]:
    """The nodes behind these tensors made at or after the number `since`, in that order."""
    todo = [t.grad_fn for t in outputs if t.grad_fn is not None]
    seen: set[Any] = set()
    while todo:
        node: Any = todo.pop()
        if node is None or node in seen or not since <= node._sequence_nr() < _ACCUMULATE:
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


def shares(
    inputs: dict[str, Edge], outputs: list[torch.Tensor], since: int
) -> tuple[dict[str, list[tuple[Any, int]]], set[str]]:
    """For each input by path: the (node, slot)s of a call that send gradient to it.

    Beside them the inputs that the call gave back as they are. Who uses such a tensor afterwards
    uses input and output alike: what came through the call cannot be told.
    """
    paths: dict[Edge, str] = {}
    for path, edge in inputs.items():
        paths.setdefault(edge, path)
    found: dict[str, list[tuple[Any, int]]] = {}
    edges = [edge_of(tensor) for tensor in outputs]
    given_back = {paths[edge] for edge in edges if edge in paths}
    todo = [edge[0] for edge in edges if edge not in paths]
    seen: set[Any] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for slot, following in enumerate(node.next_functions):
            if following[0] is None:
                continue
            if following in paths:
                if paths[following] not in given_back:
                    found.setdefault(paths[following], []).append((node, slot))
            elif since <= following[0]._sequence_nr() < _ACCUMULATE:
                todo.append(following[0])
    return found, given_back


class _Part(Portable):
    """One of the terms of a share; the last that comes gives the sum."""

    def __init__(self, share: Share, slot: int) -> None:
        self._share, self._slot = share, slot

    def __call__(self, *gradients: Any) -> None:
        """As a node's hook: (grad_inputs, grad_outputs)."""
        self._share.add(gradients[0][self._slot])


class Share(Portable):
    """The gradient that one call sends to one of its inputs, summed over its nodes.

    `close` must be called: it holds nodes, and they hold it.
    """

    def __init__(self, places: list[tuple[Any, int]], tell: Callable[[torch.Tensor], None]) -> None:
        self._nodes = [node for node, _ in places]
        self._task = -1
        self._waiting = 0
        self._sum: torch.Tensor | None = None
        self.told = False
        self._tell = tell
        self._handles = [node.register_hook(_Part(self, slot)) for node, slot in places]

    def close(self) -> None:
        """Forget the graph."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._nodes.clear()

    def add(self, gradient: torch.Tensor | None) -> None:
        """One node's term; None where it sends nothing."""
        task = torch._C._current_graph_task_id()
        if task != self._task:  # another backward pass: it may leave out what an output did not use
            self._task, self._sum = task, None
            running = current_node()
            self._waiting = sum(
                node is running or torch._C._will_engine_execute_node(node) for node in self._nodes
            )  # torch says no of the one that it starts from
        if gradient is not None:
            with torch.no_grad(), _disable_current_modes():
                self._sum = gradient if self._sum is None else self._sum + gradient
        self._waiting -= 1
        if self._waiting:
            return
        total, self._sum, self._task = self._sum, None, -1
        self.told = True
        if total is not None:
            self._tell(total)
