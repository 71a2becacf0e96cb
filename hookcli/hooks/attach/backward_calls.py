"""Which call of a module a backward hook fires for: the node that runs tells it.

Torch puts a node of its own around each call of a module with full backward hooks: one behind the
inputs, made as the call begins, and one before the output, made once the forward hooks are
through. A legacy hook stands on the output's own node, which may be that of an earlier call, or of
another module: one that gives its input back makes none.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from operator import itemgetter
from typing import Any, TypeAlias

import torch

from hookcli.hooks.attach.graph import current_node
from hookcli.models.model import Call

Origin: TypeAlias = tuple[int, int]  # a call's index and order
_number = itemgetter(0)
_NODE = "BackwardHookFunctionBackward"
_DEEPEST = 64  # levels of containers that torch's legacy hook is let through


class Origins:
    """The calls of a step whose backward will come, by the nodes at which it shows."""

    def __init__(self) -> None:
        self._inputs: dict[int, Origin] = {}  # by the number of the node behind the inputs
        self._ended: dict[int, list[tuple[int, int, int]]] = {}  # next node's number, index, order
        self._outputs: dict[tuple[int, int], list[Origin]] = {}  # by module, and number of a node
        self._fired: Counter[tuple[int, int, int]] = Counter()  # by backward pass, module, node

    def clear(self) -> None:
        """Another step begins."""
        for table in (self._inputs, self._ended, self._outputs, self._fired):
            table.clear()

    def note_full(self, call: Call, args: tuple[Any, ...]) -> None:
        """A call is at its forward hooks, with the arguments that its forward got."""
        self._note_end(call)
        for value in args:
            node = value.grad_fn if isinstance(value, torch.Tensor) else None
            if node is not None and node.name() == _NODE and node._sequence_nr() >= call.sequence:
                self._inputs[node._sequence_nr()] = (call.index, call.order)
                return

    def note_legacy(self, call: Call, output: Any) -> None:
        """A call is past its forward hooks: torch puts legacy hooks at this output's node."""
        self._note_end(call)
        tensor = first_tensor(output)
        node = None if tensor is None else tensor.grad_fn
        if node is not None:
            held = self._outputs.setdefault((call.key, node._sequence_nr()), [])
            held.append((call.index, call.order))

    def _note_end(self, call: Call) -> None:
        end = torch._C._autograd._get_sequence_nr()
        ended = (end, call.index, call.order)
        insort(self._ended.setdefault(call.key, []), ended, key=_number)  # behind its equals

    def find(self, key: int) -> Origin | None:
        """The call for which a hook of the module `key` fires now; None where it is not known."""
        node = current_node()
        if node is None:
            return None
        number = node._sequence_nr()
        if number in self._inputs:
            return self._inputs[number]
        held = self._outputs.get((key, number))
        if held is not None:
            return self._next_of(held, key, number)
        # Torch puts its node before a call's output at once: no other call ends in between.
        ended = self._ended.get(key, [])
        i = bisect_right(ended, number, key=_number) - 1
        return ended[i][1:] if i >= 0 else None

    def _next_of(self, held: list[Origin], key: int, number: int) -> Origin | None:
        """Of the calls whose hooks stand on one node: they fire as they were registered."""
        place = (torch._C._current_graph_task_id(), key, number)
        i = self._fired[place]
        self._fired[place] += 1
        return held[i] if i < len(held) else None


def first_tensor(output: Any) -> torch.Tensor | None:
    """The tensor at which torch puts a legacy hook; None where it finds none, or looks for ever."""
    for _ in range(_DEEPEST):
        if isinstance(output, torch.Tensor):
            return output
        if isinstance(output, dict):
            output = next((v for v in output.values() if isinstance(v, torch.Tensor)), None)
        elif isinstance(output, (tuple, list)) and output:
            output = output[0]
        else:
            break
    return None
