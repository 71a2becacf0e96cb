"""Finds the call of a module for which a backward hook fires, from the running autograd node.

PyTorch puts two nodes around each call of a module with full backward hooks: one at the inputs,
made when the call begins, and one at the output, made after the forward hooks. A legacy hook is
registered on the output's own node. That may be a node of an earlier call or of another module, as
a module that returns its input makes no node.

Nodes are identified by their numbers, which each thread counts for itself. So the nodes of calls on
other threads than the one that runs the model are marked in their metadata.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from operator import itemgetter
from typing import Any, TypeAlias

import torch

from hookcli.hooks.attach.graph import current_node
from hookcli.models.model import Call
from hookcli.models.nested import leaves
from hookcli.torch_private import current_graph_task_id, next_sequence_nr

Origin: TypeAlias = tuple[int, int]  # a call's index and order
_number = itemgetter(0)
_NODE = "BackwardHookFunctionBackward"
_MARK = "hookcli calls"  # in the metadata of a node: the call of each module, by its id
_DEEPEST = 64  # levels of containers; torch's own search for a tensor has no limit


class Origins:
    """The calls of a step, by the autograd nodes that identify them in backward."""

    def __init__(self) -> None:
        self._inputs: dict[int, Origin] = {}  # by the number of the node at the inputs
        # By module: the next node's number when a call ended, and the call's index and order.
        self._ended: dict[int, list[tuple[int, int, int]]] = {}
        self._outputs: dict[tuple[int, int], list[Origin]] = {}  # by module and node number
        self._fired: Counter[tuple[int, int, int]] = Counter()  # by backward pass, module, node
        self._marked = False

    def clear(self) -> None:
        """Forget all calls, as another step begins."""
        for table in (self._inputs, self._ended, self._outputs, self._fired):
            table.clear()

    def mark(self, call: Call, *values: Any) -> None:
        """Note a call of another thread, by the nodes of the tensors in these values."""
        self._marked = True
        for _, tensor, _ in leaves(values):
            node: Any = tensor.grad_fn
            if node is not None:
                calls = node.metadata.setdefault(_MARK, {})
                calls[call.key] = (call.index, call.order)

    def note_full(self, call: Call, args: tuple[Any, ...]) -> None:
        """Note a call while its forward hooks run; `args` are the arguments of its forward."""
        self._note_end(call)
        for value in args:
            node = value.grad_fn if isinstance(value, torch.Tensor) else None
            if node is not None and node.name() == _NODE and node._sequence_nr() >= call.sequence:
                self._inputs[node._sequence_nr()] = (call.index, call.order)
                return

    def note_legacy(self, call: Call, output: Any) -> None:
        """Note a call after its forward hooks; torch puts legacy hooks on this output's node."""
        self._note_end(call)
        tensor = first_tensor(output)
        node = None if tensor is None else tensor.grad_fn
        if node is not None:
            origins = self._outputs.setdefault((call.key, node._sequence_nr()), [])
            origins.append((call.index, call.order))

    def _note_end(self, call: Call) -> None:
        end = next_sequence_nr()
        ended = (end, call.index, call.order)
        insort(self._ended.setdefault(call.key, []), ended, key=_number)  # after equal numbers

    def find(self, key: int) -> Origin | None:
        """Return the call for which a hook of the module `key` fires now; None if unknown."""
        node = current_node()
        if node is None:
            return None
        if self._marked and (marked := _marked_in(node, key)) is not None:
            return marked
        number = node._sequence_nr()
        if number in self._inputs:
            return self._inputs[number]
        origins = self._outputs.get((key, number))
        if origins is not None:
            return self._next_of(origins, key, number)
        # Torch makes the node at a call's output immediately: no other call ends in between.
        ended = self._ended.get(key, [])
        i = bisect_right(ended, number, key=_number) - 1
        return ended[i][1:] if i >= 0 else None

    def _next_of(self, origins: list[Origin], key: int, number: int) -> Origin | None:
        """Return the next of several calls whose hooks are on one node, in registration order."""
        place = (current_graph_task_id(), key, number)
        i = self._fired[place]
        self._fired[place] += 1
        return origins[i] if i < len(origins) else None


def _marked_in(node: Any, key: int) -> Origin | None:
    """Return the call that is marked on a node, or on the nodes of the output that it is behind."""
    behind = [after for after, _ in node.next_functions] if node.name() == _NODE else []
    for one in (node, *behind):
        if one is not None and key in (calls := one.metadata.get(_MARK, {})):
            origin: Origin = calls[key]
            return origin
    return None


def first_tensor(output: Any) -> torch.Tensor | None:
    """Return the tensor on whose node torch puts a legacy hook.

    None if torch finds no tensor, or its search would not end.
    """
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
