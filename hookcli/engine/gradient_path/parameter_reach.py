"""Finds the parameters behind a tensor in the autograd graph, as the bits of an integer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch

from hookcli.hooks.attach.graph import let_go
from hookcli.models.model import TensorInfo


class ParameterReach:
    """The trainable parameters that each tensor's gradient reaches.

    Bit i of a result stands for `infos[i]`. The nodes that were visited are kept until `clear`.
    """

    def __init__(self, infos: Sequence[TensorInfo]) -> None:
        self.infos = [info for info in infos if info.tensor.requires_grad]
        self._index = {id(info.tensor): i for i, info in enumerate(self.infos)}
        self._below: dict[Any, int] = {}

    def of(self, tensor: torch.Tensor) -> int:
        """Return the parameters behind a tensor; 0 if it does not require grad."""
        if not tensor.requires_grad:
            return 0
        node = tensor.grad_fn
        return self.own(tensor) if node is None else self.behind(node)

    def own(self, tensor: torch.Tensor) -> int:
        """Return the bit of a parameter; 0 for another tensor."""
        index = self._index.get(id(tensor))
        return 0 if index is None else 1 << index

    def behind(self, node: Any) -> int:
        """Return the parameters behind a node, after those of the nodes below it.

        An integer takes as many bits as there are parameters. So nodes with the same parameters
        share one, and none is kept for leaves and their transposes, which are as many.
        """
        known = self._below
        todo = [] if _leaf_of(node) else [node]
        while todo:
            top = todo[-1]
            if top in known:
                todo.pop()
                continue
            following = [after for after, _ in top.next_functions if after is not None]
            waiting = [after for after in following if after not in known and not _leaf_of(after)]
            if waiting:
                todo += waiting
                continue
            bits = self._of_leaf(top)
            for after in following:
                bits = _joined(known[after] if after in known else self._of_leaf(after), bits)
            known[top] = bits
            todo.pop()
        return known[node] if node in known else self._of_leaf(node)

    def _of_leaf(self, node: Any) -> int:
        variable = getattr(_leaf_of(node) or node, "variable", None)
        return 0 if variable is None else self.own(variable)

    def names(self, bits: int) -> list[str]:
        """Return the names of parameters, in their order."""
        digits = f"{bits:b}"[::-1]  # steps from bit to bit take the square of their number
        return [info.name for info, digit in zip(self.infos, digits, strict=False) if digit == "1"]

    def clear(self) -> None:
        """Free the nodes one by one, the last created first."""
        nodes = list(self._below)
        self._below.clear()
        let_go(nodes)


def _leaf_of(node: Any) -> Any | None:
    """Return the leaf that a node is, or the leaf that is all that follows it; None for others."""
    following = node.next_functions
    if not following:
        return node
    after = following[0][0]
    return after if len(following) == 1 and after is not None and not after.next_functions else None


def _joined(one: int, other: int) -> int:
    """Return the bits of both: one of the two objects if it has them all."""
    both = one | other
    return one if both == one else other if both == other else both


def reachable(
    start: torch.Tensor, avoided: Collection[Any] = (), *, without: Collection[tuple[Any, int]] = ()
) -> set[Any]:
    """Return the nodes that backward from this tensor reaches.

    It does not go through the nodes to avoid, and not `without` some inputs of nodes.
    """
    todo: list[Any] = [] if start.grad_fn is None else [start.grad_fn]
    seen: set[Any] = set()
    while todo:
        node = todo.pop()
        if node in seen or node in avoided:
            continue
        seen.add(node)
        for index, (after, _) in enumerate(node.next_functions):
            if after is not None and not (without and (node, index) in without):
                todo.append(after)
    return seen
