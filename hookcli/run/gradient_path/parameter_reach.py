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
        self._own = {id(info.tensor): 1 << i for i, info in enumerate(self.infos)}
        self._below: dict[Any, int] = {}

    def of(self, tensor: torch.Tensor) -> int:
        """Return the parameters behind a tensor; 0 if it does not require grad."""
        if not tensor.requires_grad:
            return 0
        node = tensor.grad_fn
        return self._own.get(id(tensor), 0) if node is None else self.behind(node)

    def own(self, tensor: torch.Tensor) -> int:
        """Return the bit of a parameter; 0 for another tensor."""
        return self._own.get(id(tensor), 0)

    def behind(self, node: Any) -> int:
        """Return the parameters behind a node, after those of the nodes below it."""
        known = self._below
        todo = [node]
        while todo:
            top = todo[-1]
            if top in known:
                todo.pop()
                continue
            following = [after for after, _ in top.next_functions if after is not None]
            waiting = [after for after in following if after not in known]
            if waiting:
                todo += waiting
                continue
            bits = 0
            for after in following:
                bits |= known[after]
            leaf = getattr(top, "variable", None)
            known[top] = bits | (0 if leaf is None else self.own(leaf))
            todo.pop()
        return known[node]

    def names(self, bits: int) -> list[str]:
        """Return the names of parameters, in their order."""
        digits = f"{bits:b}"[::-1]  # steps from bit to bit take the square of their number
        return [info.name for info, digit in zip(self.infos, digits, strict=False) if digit == "1"]

    def clear(self) -> None:
        """Free the nodes one by one, the last created first."""
        nodes = list(self._below)
        self._below.clear()
        let_go(nodes)


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
