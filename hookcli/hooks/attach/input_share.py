"""A module's own share of its input's gradient: what one call sends there, and no other user.

Its terms come one by one; where nobody looks at their sum it is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.hooks.attach.graph import ACCUMULATE, Edge, current_node, edge_of
from hookcli.hooks.portable import Portable


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
    senders: dict[str, list[tuple[Any, int]]] = {}
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
                    senders.setdefault(paths[following], []).append((node, slot))
            elif since <= following[0]._sequence_nr() < ACCUMULATE:
                todo.append(following[0])
    return senders, given_back


class _Part(Portable):
    """One of the terms of a share; the last that comes completes it."""

    def __init__(self, share: InputGradient, slot: int) -> None:
        self._share, self._slot = share, slot

    def __call__(self, *gradients: Any) -> None:
        """As a node's hook: (grad_inputs, grad_outputs)."""
        self._share.add(gradients[0][self._slot])


Terms = tuple[torch.Tensor, ...]
"""One tensor, or two to be added."""


class InputGradient(Portable):
    """The gradient that one call sends to one of its inputs, told by its terms.

    What came is held until the next term comes, and no longer: then torch adds that one to its
    own sum, in place where nobody else holds it. `close` must be called: a share holds nodes, and
    they hold it.
    """

    def __init__(self, places: list[tuple[Any, int]], tell: Callable[[Terms], None]) -> None:
        self._nodes = [node for node, _ in places]
        self._task = -1
        self._waiting = 0
        self._held: torch.Tensor | None = None
        self._ours = False  # what is held is a sum of several
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
            self._task, self._held, self._ours = task, None, False
            self._waiting = 1 if len(self._nodes) == 1 else self._to_come()
        terms = tuple(term for term in (self._held, gradient) if term is not None)
        self._held = None
        self._waiting -= 1
        if self._waiting:
            self._held = total(terms, ours=self._ours) if terms else None
            self._ours |= len(terms) > 1
            return
        self._task, self.told = -1, True
        if terms:
            self._tell(terms)

    def _to_come(self) -> int:
        running = current_node()
        return sum(
            node is running or torch._C._will_engine_execute_node(node) for node in self._nodes
        )  # torch says no of the one that it starts from


def total(terms: Terms, *, ours: bool = False) -> torch.Tensor:
    """Their sum, in the first if that is `ours` to write."""
    if len(terms) == 1:
        return terms[0]
    first, other = terms
    with torch.no_grad(), _disable_current_modes():
        return first.add_(other) if ours and _plain(first) and _plain(other) else first + other


def _plain(term: torch.Tensor) -> bool:
    return type(term) is torch.Tensor and term.layout is torch.strided
