"""Make every scripted module of a model report its calls, before the first run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from hookcli.models import module_tree
from hookcli.models.scripted import is_scripted, tapped_of
from hookcli.models.torchscript.tapped import Tapped, private_copy


def tap(root: nn.Module, swaps: Callable[[nn.Module], bool]) -> list[str]:
    """Make the scripted modules at and below `root` report their calls, and return notes.

    `swaps` tells for which modules values may be replaced. A scripted child of a Python module is
    replaced by a separate copy, because it may have run already, and others may share its code.
    """
    notes = []
    if is_scripted(root):
        notes += _instrument(Tapped(root), swaps)  # type: ignore[arg-type]
        return notes
    for name, parent, key in list(_children(root)):
        child: Any = parent._modules[key]
        if tapped_of(child) is not None:
            continue
        if _is_shared(root, child):
            notes.append(f"{name} is scripted and shares parameters: calls in it are not recorded")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch warns that TorchScript is deprecated
                copy = private_copy(child)
        except RuntimeError:  # on the meta device, for example, nothing can be saved
            copy = child
        for owner, alias in list(_holders(root, child)):
            owner._modules[alias] = copy
        notes += _instrument(Tapped(copy), swaps)
    return notes


def _instrument(tapped: Tapped, swaps: Callable[[nn.Module], bool]) -> list[str]:
    tapped.instrument(swaps)
    notes = [f"calls are not recorded: {problem}" for problem in tapped.problems]
    if tapped.flat:
        notes.append("frozen: one graph with constant weights and no modules: rows are operators")
    return notes


def _children(root: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    """Yield the scripted children of Python modules: name, parent and key."""
    seen: set[int] = set()
    for name, module in module_tree.named(root):
        if is_scripted(module):
            continue
        for key, child in module._modules.items():
            if child is not None and is_scripted(child) and id(child) not in seen:
                seen.add(id(child))
                yield (f"{name}.{key}" if name else key), module, key


def _holders(root: nn.Module, child: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    for module, _ in module_tree.modules(root):
        if not is_scripted(module):
            for key, submodule in module._modules.items():
                if submodule is child:
                    yield module, key


def _is_shared(root: nn.Module, child: nn.Module) -> bool:
    """Whether another module also owns a parameter of a scripted child: a copy would untie it."""
    inside = {id(module) for module, _ in module_tree.modules(child)}
    own = {id(t) for t, _, _ in module_tree.tensors(child, "_parameters")}
    for module, _ in module_tree.modules(root):
        if id(module) in inside:
            continue
        if any(id(t) in own for _, t in module._parameters.items() if t is not None):
            return True
    return False
