"""Hooks that stand on several tensors at once."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import register_multi_grad_hook

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable


class Multi(Portable):
    """A hook of several tensors."""

    def __init__(self, hook: Hook, site: Site) -> None:
        self._hook, self._site = hook, site

    def __call__(self, gradients: Any) -> None:
        """As torch calls it: a list of all, or the first."""
        self._hook.fire(self._site, gradients, lambda value: (value,))


def register_together(hook: Hook, tensors: list[torch.Tensor], names: list[str]) -> Any:
    """Register one multi_grad hook; its target are the first names."""
    target = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
    return register_multi_grad_hook(
        tensors, Multi(hook, Site(target)), mode=hook.spec.options.get("mode", "all")
    )
