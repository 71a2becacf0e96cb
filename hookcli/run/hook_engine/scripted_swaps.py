"""Which modules' values hooks may replace: known before a scripted module's first run."""

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
    """Whether a hook may give a module's inputs or output a new value."""
    known = Known(module_tree.modules(root), ())
    module_ids: set[int] = set()
    for hook in hooks:
        changes = any(ACTIONS[action.name].changes for action in hook.actions)
        if changes and KINDS[hook.kind].moment is not None:
            try:
                module_ids.update(id(module) for _, module in resolve(hook, known).modules)
            except RequestError:  # said when the hooks are attached, all at once
                continue
    return lambda module: id(module) in module_ids
