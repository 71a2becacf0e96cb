"""The names of tensors as a tree, in which equal neighbours such as layers.0 … layers.31 are one.

Modules are folded if they are numbered, follow each other, and have the same tensors below, of the
same shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from hookcli.report.weights.weights_report import WeightsRow

_DEEPEST = 64  # levels; the rest of a name is one


@dataclass(slots=True)
class WeightsNode:
    """A group of tensors, or one: `rows` are the tensors that this line stands for.

    `label` is the part of the name; `times` how many neighbours were folded into it.
    """

    label: str
    rows: list[WeightsRow] = field(default_factory=list)
    below: list[WeightsNode] = field(default_factory=list)
    times: int = 1

    @property
    def is_tensor(self) -> bool:
        """Whether the line is about a tensor and not only about a group."""
        return bool(self.rows)

    def every(self) -> list[WeightsRow]:
        """Return all tensors here and below."""
        found = list(self.rows)
        for node in self.below:
            found += node.every()
        return found


class _Building:
    """A level of the tree while it is built."""

    __slots__ = ("below", "row")

    def __init__(self) -> None:
        self.row: WeightsRow | None = None
        self.below: dict[str, _Building] = {}


def tree(rows: Sequence[WeightsRow], *, folded: bool) -> list[WeightsNode]:
    """Return the tensors as a tree by the dots in their names, in the order of the rows."""
    root = _Building()
    for row in rows:
        at = root
        for part in row.name.split(".", _DEEPEST):
            at = at.below.setdefault(part, _Building())
        at.row = row
    return _nodes(root, folded=folded)


def _nodes(level: _Building, *, folded: bool) -> list[WeightsNode]:
    nodes = []
    for label, inner in level.below.items():
        nodes.append(
            WeightsNode(
                label,
                [] if inner.row is None else [inner.row],
                _nodes(inner, folded=folded),
            )
        )
    nodes = _by_number(nodes)
    return _folded(nodes) if folded else nodes


def _by_number(nodes: list[WeightsNode]) -> list[WeightsNode]:
    """Return the nodes with numbered neighbours in order: many files have 1, 10, 11, 2."""
    made: list[WeightsNode] = []
    for numbered, run in groupby(nodes, _is_numbered):
        group = list(run)
        if numbered:
            group.sort(key=lambda node: (len(node.label), node.label))
        made += group
    return made


def _is_numbered(node: WeightsNode) -> bool:
    return node.label.isascii() and node.label.isdigit()


def _folded(nodes: list[WeightsNode]) -> list[WeightsNode]:
    """Return the nodes with runs of numbered ones that look the same joined."""
    made: list[WeightsNode] = []
    for look, run in groupby(nodes, _look):
        group = list(run)
        made += group if look is None or len(group) == 1 else [_joined(group)]
    return made


def _look(node: WeightsNode) -> Hashable:
    """Return what a node looks like; None if it is not numbered, so that it is not folded."""
    return _shape_of(node) if _is_numbered(node) else None


def _shape_of(node: WeightsNode) -> Hashable:
    own = [(row.shape, row.dtype, row.layout, row.part) for row in node.rows[:1]]
    below = tuple((inner.label, inner.times, _shape_of(inner)) for inner in node.below)
    return tuple(own), below


def _joined(group: list[WeightsNode]) -> WeightsNode:
    """Return one node for nodes that look the same, with the tensors of all."""
    first, last = group[0], group[-1]
    label = f"{first.label}..{last.label}" if first is not last else first.label
    below = [
        _joined([node.below[at] for node in group]) if len(group) > 1 else first.below[at]
        for at in range(len(first.below))
    ]
    for node, inner in zip(below, first.below, strict=True):
        node.label = inner.label
        node.times = inner.times
    rows = [row for node in group for row in node.rows]
    return WeightsNode(label, rows, below, len(group))
