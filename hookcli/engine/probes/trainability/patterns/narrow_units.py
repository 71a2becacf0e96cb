"""Layers of one unit behind a ReLU, which all that the loss sees of the inputs passes through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.engine.probes.trainability.loss_graph import Node
from hookcli.engine.probes.trainability.patterns.linear_maps import weight_of
from hookcli.engine.probes.trainability.patterns.softmax_graph import LINEAR, VIEWS

_RELU = "ReluBackward0"
_DROPOUTS = {"MulBackward0", "DivBackward0", "NativeDropoutBackward0"}
_LONGEST = 20  # nodes of a path
_MOST_NODES = 10_000


def narrow_units(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each linear layer of one unit with a ReLU that alone feeds another linear layer."""
    for node in nodes:
        if node.name() not in LINEAR:
            continue
        weight = weight_of(node)
        if weight is None or weight.dim() != 2 or weight.shape[1] != 1:
            continue
        narrow = _layer_behind(node)
        given = None if narrow is None else weight_of(narrow)
        if narrow is None or given is None or given.shape[0] != 1 or given.shape[1] == 1:
            continue
        before = narrow.next_functions[LINEAR[narrow.name()][0]][0]
        if before is not None and before not in _reached(nodes[0], without=narrow):
            yield narrow, {"inputs": given.shape[1], "outputs": weight.shape[0]}


def _layer_behind(node: Node) -> Node | None:
    """Return the linear layer whose outputs a ReLU, and perhaps a dropout, gives to another one."""
    behind, relu = node.next_functions[LINEAR[node.name()][0]][0], False
    for _ in range(_LONGEST):
        if behind is None:
            return None
        name = behind.name()
        if name in LINEAR:
            return behind if relu else None
        inputs = [one for one, _ in behind.next_functions if one is not None]
        if len(inputs) != 1 or name not in VIEWS | _DROPOUTS | {_RELU}:
            return None
        relu = relu or name == _RELU
        (behind,) = inputs
    return None


def _reached(start: Node, *, without: Node) -> set[Node]:
    """Return the nodes behind the loss on ways that do not pass one of them."""
    todo, seen = [start], {start, without}
    for node in todo:  # grows meanwhile
        for other, _ in node.next_functions if len(seen) <= _MOST_NODES else ():
            if other is not None and other not in seen:
                seen.add(other)
                todo.append(other)
    return seen - {without}
