"""Removes hooks, so that the model stays consistent.

A hook of a feature is removed by the feature's own function: without it, and with the rest of the
feature, the model would compute something else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from torch.nn.utils import parametrize, prune
from torch.nn.utils.spectral_norm import remove_spectral_norm
from torch.nn.utils.weight_norm import remove_weight_norm

from hookcli.errors import RequestError
from hookcli.models.existing_hooks.features import ACCELERATE, PARAMETRIZE, TORCH
from hookcli.models.existing_hooks.find import FoundHook
from hookcli.models.existing_hooks.function_names import multi_grad_key
from hookcli.models.existing_hooks.registries import Registered
from hookcli.report.existing_hook import PATCHED_FORWARD
from hookcli.text import first_line

# What removes a feature from a tensor of a module.
_REMOVERS: dict[str, Callable[[Any, str], object]] = {
    "weight_norm": remove_weight_norm,
    "spectral_norm": remove_spectral_norm,
    "prune": prune.remove,
    PARAMETRIZE: parametrize.remove_parametrizations,
}
_ONE_BY_ONE = {None, TORCH, PARAMETRIZE, ACCELERATE}  # features with hooks that stand alone


def remove(chosen: Sequence[FoundHook], found: Sequence[FoundHook]) -> list[FoundHook]:
    """Remove the chosen hooks, and return those that are gone, in the order of `found`.

    `found` are all hooks of the model: other hooks can be removed together with a chosen one. Those
    of a feature go together, and a hook on several tensors (multi_grad) is removed from all.

    Raises
    ------
    RequestError : one of the hooks cannot be removed; none of them is removed then. Or a feature's
        own function failed.
    """
    joint = {multi_grad_key(hook.hook) for hook in chosen} - {None}
    chosen = [*chosen, *(hook for hook in found if multi_grad_key(hook.hook) in joint)]
    done: set[tuple[object, ...]] = set()
    removals = [_removal(hook, done) for hook in chosen]
    for hook, removal in zip(chosen, removals, strict=True):
        if _is_present(hook):
            removal()
    return [hook for hook in found if not _is_present(hook)]


def _is_present(hook: FoundHook) -> bool:
    return hook.registered is None or hook.registered.is_present()


def _removal(found: FoundHook, done: set[tuple[object, ...]]) -> Callable[[], object]:
    """Return the function that removes a hook. `done` are the features that were removed."""
    row, registered = found.row, found.registered
    if row.kind == PATCHED_FORWARD:
        hooks = sys.modules.get("accelerate.hooks")
        if hooks is not None and registered is not None:
            return lambda: hooks.remove_hook_from_module(registered.owner)
    elif registered is not None and row.feature in _REMOVERS and row.tensor is not None:
        return lambda: _remove_feature(found, registered, done)
    elif registered is not None and row.feature in _ONE_BY_ONE:
        return registered.delete
    what = f"the {row.kind} hook {row.function}"
    raise RequestError(
        f"{what} cannot be removed: {row.feature or 'torch'} requires it",
        place=row.target or row.type or "torch",
        hint="select other hooks by `kind`, `module`, `function` or `feature`",
    )


def _remove_feature(
    found: FoundHook, registered: Registered, done: set[tuple[object, ...]]
) -> None:
    """Remove a feature from a tensor, and then what torch leaves of it: hooks on state dicts."""
    feature, tensor = found.row.feature or "", found.row.tensor or ""
    key = (feature, id(registered.owner), tensor)
    if key in done:
        registered.delete()
        return
    try:
        _REMOVERS[feature](registered.owner, tensor)
    except (RuntimeError, ValueError) as error:
        raise RequestError(
            f"torch cannot remove {feature}: {first_line(str(error))}",
            place=found.row.target,
            hint="remove it where it is applied",
        ) from None
    done.add(key)
