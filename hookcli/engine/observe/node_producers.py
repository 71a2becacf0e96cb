"""Finds the calls whose outputs operators used to make a tensor, in the autograd graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import torch

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.hooks.attach.graph import ACCUMULATE
from hookcli.models.model import Call
from hookcli.operators.nodes import is_opaque, is_renewed_view, operator_of
from hookcli.torch_private import next_sequence_nr

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


class _Step(NamedTuple):
    """A node on the way back from a tensor, and which of its outputs was used."""

    node: Any
    output: int
    number: int
    user: int  # the number of the node that used it
    names: tuple[str, ...]  # of the operators after it


class NodeProducers:
    """What made the tensors of one thread. `running` are the orders of the calls that run.

    No node is kept: they are known by their numbers. After about `most` nodes, no more are read:
    torch frees those that Python has read recursively, which can overflow the stack.
    """

    def __init__(self, owners: NodeOwners, running: list[int], most: int) -> None:
        self._owners = owners
        self._running = running
        self._left = most
        self._since: int | None = None  # the number of the first node that calls made
        # Calls by the number of a node and of its output, each from a number of nodes on.
        self._outputs: dict[tuple[int, int], list[tuple[int, Producer]]] = {}
        self._got: set[tuple[int, int]] = set()  # the start of each search
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
        self._got.clear()
        self._operators.clear()
        self.ungraded.clear()

    def note(self, tensor: torch.Tensor, producer: Producer, *, certain: bool) -> None:
        """Note that a tensor is an output of a call that ends, if its node does not tell which.

        If that is not `certain`, it is so for a tensor that a call got.
        """
        if not self.reads or not (certain or self._got) or self._left < 0:
            return
        node: Any = tensor.grad_fn
        if node is not None:
            self._left -= 1
            key = node._sequence_nr(), tensor.output_nr
            if certain or key in self._got:
                made = self._outputs.setdefault(key, [])
                made.append((next_sequence_nr(), producer))

    def of(self, tensor: torch.Tensor, most: int) -> Found:
        """Return up to `most` of the calls whose outputs operators made a tensor of."""
        found: Found = {}
        if self._left < 0:
            return found
        start: Any = tensor.grad_fn
        if start is None:
            return found
        self._left -= 1
        first = start._sequence_nr()
        seen: set[int] = set()
        self._got.add((first, tensor.output_nr))
        todo = deque([_Step(start, tensor.output_nr, first, ACCUMULATE, ())])
        budget = MOST_OPERATORS
        while todo and len(found) < most:
            step = todo.popleft()
            producer = self._producer(step)
            if producer is not None:
                _add(found, producer, step.names)
                continue
            if step.number in seen or not self._is_operator(step.node, step.number):
                continue
            seen.add(step.number)
            known = self._operators.get(step.number)
            if known is not None:
                for producer, more in islice(known.items(), most - len(found)):
                    _add(found, producer, _join(step.names, more))
                continue
            budget -= 1
            if budget < 0:
                break
            names = add_name(step.names, operator_of(step.node))
            for node, output in step.node.next_functions:
                number = 0 if node is None else node._sequence_nr()
                if node is None or (self.leaf is None and number >= ACCUMULATE):
                    continue
                self._left -= 1
                todo.append(_Step(node, output, number, step.number, names))
        if budget < MOST_OPERATORS:
            self._operators[first] = found
        return found

    def _producer(self, step: _Step) -> Producer | None:
        """Return the finished call or the part of the batch that a node is the output of."""
        if step.number >= ACCUMULATE:
            return None if self.leaf is None else self.leaf(step.node.variable)
        made = self._outputs.get((step.number, step.output), ())
        for since, producer in reversed(made):
            if since <= step.user and producer[0] not in self._running:
                return producer
        owner = self._owners.of(step.number)
        if owner is None or owner in self._running or is_renewed_view(step.node):
            return None
        return owner, ""

    def _is_operator(self, node: Any, number: int) -> bool:
        """Whether a node of no finished call is an operator whose inputs can be followed."""
        if number >= ACCUMULATE or self._since is None or number < self._since:
            return False
        return not is_opaque(node, ran_calls=number + 1 in self.ungraded)


def _add(found: Found, producer: Producer, names: tuple[str, ...]) -> None:
    """Add a producer with the operators after it, or fewer of them."""
    known = found.get(producer)
    if known is None or len(names) < len(known):
        found[producer] = names
