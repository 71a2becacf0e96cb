"""The gradients at the inputs and outputs of layers in compiled code.

Backward of a compiled graph calls no hooks of Python. So each tensor gets a leaf of zeros added to
it: the gradient of the leaf is that of the tensor. At an input it is the gradient that passes
through this call only, at an output that of all uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from hookcli.models import module_tree


def probe_key(kind: str, name: str, index: int, number: int) -> str:
    """Return the key of the tensor `number` at the start ("in") or end ("out") of a call."""
    return f"{kind} {name} {index} {number}"


class GradientProbes:
    """The leaves that are added, by `probe_key`. The first run makes them."""

    def __init__(self) -> None:
        self._leaves: dict[str, torch.Tensor] = {}
        self._counts: dict[str, int] = {}
        self._makes = True

    @contextmanager
    def attached(self, root: nn.Module) -> Iterator[None]:
        """Attach the hooks to all modules inside the root, for the time of the block."""
        handles: list[Any] = []
        self._counts.clear()
        for module, names in module_tree.modules(root):
            if module is not root:
                handles += self._hooks(module, names[0])
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hooks(self, module: nn.Module, name: str) -> list[Any]:
        counts = self._counts

        def enter(_module: nn.Module, args: Any, kwargs: Any) -> Any:
            prefix = f"in {name} {counts.get(f'in {name}', 0)}"
            counts[f"in {name}"] = counts.get(f"in {name}", 0) + 1
            return self._added((args, kwargs), prefix, [0])

        def leave(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            prefix = f"out {name} {counts.get(f'out {name}', 0)}"
            counts[f"out {name}"] = counts.get(f"out {name}", 0) + 1
            return self._added(output, prefix, [0])

        return [
            module.register_forward_pre_hook(enter, with_kwargs=True),
            module.register_forward_hook(leave, with_kwargs=True),
        ]

    def _added(self, value: Any, prefix: str, number: list[int]) -> Any:
        """Return a value with a leaf added to each tensor; the compiler can trace this."""
        if isinstance(value, torch.Tensor):
            key = f"{prefix} {number[0]}"
            number[0] += 1
            if not value.requires_grad:
                return value
            if self._makes:
                self._leaves[key] = torch.zeros_like(value).requires_grad_()
            leaf = self._leaves.get(key)
            return value if leaf is None else value + leaf
        if type(value) is tuple:
            return tuple([self._added(item, prefix, number) for item in value])
        if type(value) is list:
            return [self._added(item, prefix, number) for item in value]
        if type(value) is dict:
            return {key: self._added(item, prefix, number) for key, item in value.items()}
        return value

    def take(self) -> dict[str, torch.Tensor]:
        """Return the gradients of the last run by their keys, and forget them."""
        self._makes = False
        found = {}
        for key, leaf in self._leaves.items():
            if leaf.grad is not None:
                found[key] = leaf.grad
                leaf.grad = None
        return found
