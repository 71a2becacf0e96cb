"""Finds the modules whose values hooks may replace, before a scripted module first runs."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.errors import RequestError
from hookcli.hooks.resolve import Known, resolve
from hookcli.models import module_tree
from hookcli.spec.hooks import HookSpec


def swapping(hooks: tuple[HookSpec, ...], root: nn.Module) -> Callable[[nn.Module], bool]:
    """Return a function that tells whether a hook may replace a module's inputs or output."""
    known = Known(module_tree.modules(root), ())
    module_ids: set[int] = set()
    for hook in hooks:
        changes = any(ACTIONS[action.name].changes for action in hook.actions)
        if changes and KINDS[hook.kind].moment is not None:
            try:
                module_ids.update(id(module) for _, module in resolve(hook, known).modules)
            except RequestError:  # reported when the hooks are attached
                continue
    return lambda module: id(module) in module_ids
