"""A module's own share of its input's gradient: the part that comes from one of its calls.

Other users of the input contribute the rest. The terms of a share arrive one by one; their sum is
computed only if an action reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hookcli.hooks.attach.graph import ACCUMULATE, Edge, current_node, edge_of
from hookcli.hooks.portable import Portable
from hookcli.torch_private import (
    current_graph_task_id,
    disable_current_modes,
    will_engine_execute_node,
)


def shares(
    inputs: dict[str, Edge], outputs: list[torch.Tensor], since: int
) -> tuple[dict[str, list[tuple[Any, int]]], set[str], int]:
    """Return the (node, slot) pairs of a call that send gradient to each input, by its path.

    The second value contains the inputs that the call returned unchanged. Input and output are
    then the same tensor, so the gradient that came through the call is unknown. The third is the
    number of nodes that were read.
    """
    paths: dict[Edge, str] = {}
    for path, edge in inputs.items():
        paths.setdefault(edge, path)
    senders: dict[str, list[tuple[Any, int]]] = {}
    edges = [edge_of(tensor) for tensor in outputs]
    returned = {paths[edge] for edge in edges if edge in paths}
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
                if paths[following] not in returned:
                    senders.setdefault(paths[following], []).append((node, slot))
            elif since <= following[0]._sequence_nr() < ACCUMULATE:
                todo.append(following[0])
    return senders, returned, len(seen)


class _Part(Portable):
    """A hook on one node that contributes a term to a share."""

    def __init__(self, share: InputGradient, slot: int) -> None:
        self._share, self._slot = share, slot

    def __call__(self, *gradients: Any) -> None:
        """Add the term; PyTorch calls this with (grad_inputs, grad_outputs)."""
        self._share.add(gradients[0][self._slot])


Terms = tuple[torch.Tensor, ...]
"""One tensor, or two tensors to add."""


class InputGradient(Portable):
    """The gradient that one call sends to one of its inputs, added up from its terms.

    A term is kept only until the next one arrives, since torch adds that one to its own sum, in
    place if nothing else references it. `close` must be called: a share and its nodes reference
    each other.
    """

    def __init__(self, places: list[tuple[Any, int]], fire: Callable[[Terms], None]) -> None:
        self._nodes = [node for node, _ in places]
        self._task = -1
        self._waiting = 0
        self._partial: torch.Tensor | None = None
        self._ours = False  # whether the partial sum is a tensor that we made
        self.fired = False
        self._fire = fire
        self._handles = [node.register_hook(_Part(self, slot)) for node, slot in places]

    def close(self) -> None:
        """Remove the hooks and release the nodes."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._nodes.clear()

    def add(self, gradient: torch.Tensor | None) -> None:
        """Add the term of one node; None if it sends no gradient."""
        task = current_graph_task_id()
        if task != self._task:  # another backward pass, which may not run all of the nodes
            self._task, self._partial, self._ours = task, None, False
            self._waiting = 1 if len(self._nodes) == 1 else self._to_come()
        terms = tuple(term for term in (self._partial, gradient) if term is not None)
        self._partial = None
        self._waiting -= 1
        if self._waiting:
            self._partial = total(terms, ours=self._ours) if terms else None
            self._ours |= len(terms) > 1
            return
        self._task, self.fired = -1, True
        if terms:
            self._fire(terms)

    def _to_come(self) -> int:
        running = current_node()
        return sum(
            node is running or will_engine_execute_node(node) for node in self._nodes
        )  # torch returns False for the node that it starts from


def total(terms: Terms, *, ours: bool = False) -> torch.Tensor:
    """Return the sum of the terms, added in place to the first if that one is `ours`."""
    if len(terms) == 1:
        return terms[0]
    first, other = terms
    with torch.no_grad(), disable_current_modes():
        return first.add_(other) if ours and _plain(first) and _plain(other) else first + other


def _plain(term: torch.Tensor) -> bool:
    return type(term) is torch.Tensor and term.layout is torch.strided
