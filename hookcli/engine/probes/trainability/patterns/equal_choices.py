"""Choices among values that are equal, as those that a tensor repeats along the dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.engine.probes.trainability.loss_graph import Node, shape_of_node, signed

_CHOICES = {"GatherBackward0", "IndexSelectBackward0"}
_COPIES = {"CloneBackward0", "ToCopyBackward0", "AliasBackward0"}
_COPIED = {"RepeatBackward0", "ExpandBackward0"}


def equal_choices(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each gather along a dimension that a repeat or an expand has made of one value."""
    for node in nodes:
        if node.name() not in _CHOICES:
            continue
        source = node.next_functions[0][0]
        while source is not None and source.name() in _COPIES:
            source = source.next_functions[0][0]
        shape = None if source is None else shape_of_node(source)
        if source is None or shape is None or source.name() not in _COPIED:
            continue
        dim = signed(node._saved_dim) % len(shape)
        sizes = source._saved_self_sym_sizes
        place = dim - (len(shape) - len(sizes))
        if shape[dim] > 1 and (place < 0 or sizes[place] == 1):
            yield node, {"dim": dim, "shape": [*shape]}
