"""Finds the calls whose outputs operators used to make a tensor, in the autograd graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.hooks.attach.graph import ACCUMULATE
from hookcli.models.model import Call
from hookcli.operators.node_names import is_opaque, operator_of
from hookcli.run.observe.node_owners import NodeOwners

Producer: TypeAlias = "tuple[int | None, str]"  # order of a call (None: the batch), and the path
Found: TypeAlias = "dict[Producer, tuple[str, ...]]"  # names of operators, the last one first

MOST_OPERATORS = 200  # that are followed from one tensor
MOST_PRODUCERS = 64  # of one tensor
MANY_EDGES, MOST_AFTER_MANY = 50_000, 4  # a loop that adds up its results has a square of them
_MOST_NAMES = 8


def add_name(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the names with another one at the end, "…" if there are eight."""
    if not name or len(names) > _MOST_NAMES:
        return names
    return (*names, name if len(names) < _MOST_NAMES else "…")


def _join(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    for name in more:
        names = add_name(names, name)
    return names


class NodeProducers:
    """What made the tensors of one thread. `running` are the orders of the calls that run.

    No node is kept: they are known by their numbers.
    """

    def __init__(self, owners: NodeOwners, running: list[int]) -> None:
        self._owners = owners
        self._running = running
        self._since: int | None = None  # the number of the first node that calls made
        self._outputs: dict[tuple[int, int], Producer] = {}  # by number of the node and output
        self._operators: dict[int, Found] = {}  # of the operators that were followed before
        # Finds a tensor of the batch, if one requires a gradient.
        self.leaf: Callable[[torch.Tensor], Producer | None] | None = None
        self.ungraded: set[int] = set()  # numbers of the next node when calls without grad began
        self.reads = False  # whether the numbers of nodes tell which call made them

    def begin(self, call: Call) -> None:
        """Handle the first call."""
        if self._since is None:
            self._since = call.sequence
            self.reads = True

    def clear(self) -> None:
        """Forget all nodes."""
        self._outputs.clear()
        self._operators.clear()
        self.ungraded.clear()

    def note(self, tensor: torch.Tensor, producer: Producer) -> None:
        """Note which output of a call a tensor is, if the owner of its node does not tell."""
        node: Any = tensor.grad_fn
        if node is not None and self.reads:
            self._outputs[node._sequence_nr(), tensor.output_nr] = producer

    def of(self, tensor: torch.Tensor, most: int) -> Found:
        """Return up to `most` of the calls whose outputs operators made a tensor of."""
        start: Any = tensor.grad_fn
        found: Found = {}
        if start is None:
            return found
        first = start._sequence_nr()
        seen = {(first, tensor.output_nr)}
        todo: deque[tuple[Any, int, int, tuple[str, ...]]]
        todo = deque([(start, tensor.output_nr, first, ())])
        budget = MOST_OPERATORS
        while todo and len(found) < most:
            node, output, number, names = todo.popleft()
            producer = self._producer(node, number, output)
            if producer is not None:
                found.setdefault(producer, names)
                continue
            if not self._is_operator(node, number):
                continue
            known = self._operators.get(number)
            if known is not None:
                for producer, more in known.items():
                    found.setdefault(producer, _join(names, more))
                continue
            budget -= 1
            if budget < 0:
                break
            names = add_name(names, operator_of(node))
            for before, index in node.next_functions:
                if before is None:
                    continue
                following = before._sequence_nr()
                key = (following, index)
                if following >= ACCUMULATE:  # all of these have one number
                    if self.leaf is not None:
                        todo.append((before, index, following, names))
                elif key not in seen:
                    seen.add(key)
                    todo.append((before, index, following, names))
        if self._is_operator(start, first):
            self._operators[first] = found
        return found

    def _producer(self, node: Any, number: int, output: int) -> Producer | None:
        """Return the finished call or the part of the batch that a node is the output of."""
        if number >= ACCUMULATE:
            return None if self.leaf is None else self.leaf(node.variable)
        known = self._outputs.get((number, output))
        if known is not None and known[0] not in self._running:
            return known
        owner = self._owners.of(number)
        return None if owner is None or owner in self._running else (owner, "")

    def _is_operator(self, node: Any, number: int) -> bool:
        """Whether a node of no finished call is an operator whose inputs can be followed."""
        if number >= ACCUMULATE or self._since is None or number < self._since:
            return False
        return not is_opaque(node, ran_calls=number + 1 in self.ungraded)
