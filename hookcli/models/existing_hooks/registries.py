"""Where torch keeps hooks: dictionaries of modules, tensors, optimizers and of torch itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE

_OPTIONS = {"with_kwargs": "_with_kwargs", "always_call": "_always_called"}
_FULL = "_is_full_backward_hook"
_GLOBAL = "_global"


def _registries(chosen: Callable[[Kind], bool]) -> dict[str, tuple[Kind, ...]]:
    """Return the kinds that torch keeps in each registry; two share one."""
    registries: dict[str, tuple[Kind, ...]] = {}
    for kind in CATALOGUE.values():
        if kind.registry and chosen(kind):
            registries[kind.registry] = (*registries.get(kind.registry, ()), kind)
    return registries


def is_global(kind: Kind) -> bool:
    """Whether torch keeps the hooks of a kind for all modules or optimizers together."""
    return kind.registry.startswith(_GLOBAL)


OF_MODULES = _registries(lambda kind: kind.target == "module")
OF_TENSORS = _registries(lambda kind: kind.target in {"tensor", "parameter"})
OF_OPTIMIZERS = _registries(lambda kind: kind.target == "optimizer" and not is_global(kind))
OF_PROCESS = _registries(is_global)


@dataclass(frozen=True, slots=True)
class Registered:
    """Where a hook is: under a key of a dictionary, which is an attribute of `owner`."""

    owner: Any
    registry: str
    key: Any

    def is_present(self) -> bool:
        """Whether the hook is still there."""
        table = getattr(self.owner, self.registry, None)
        return table is not None and self.key in table

    def options(self) -> tuple[str, ...]:
        """Return the options that the hook was registered with, as far as torch keeps them."""
        return tuple(
            option
            for option, suffix in _OPTIONS.items()
            if self.key in getattr(self.owner, self.registry + suffix, ())
        )

    def delete(self) -> None:
        """Remove the hook, as torch's handle does; after the last one, allow both backward kinds.

        torch's handle leaves `_is_full_backward_hook`, and then refuses hooks of the other kind.
        """
        table = getattr(self.owner, self.registry)
        del table[self.key]
        for suffix in _OPTIONS.values():
            getattr(self.owner, self.registry + suffix, {}).pop(self.key, None)
        flag = _flag(self.registry)
        if not table and has_two_kinds(self.registry) and hasattr(self.owner, flag):
            setattr(self.owner, flag, None)


def _flag(registry: str) -> str:
    return (_GLOBAL if registry.startswith(_GLOBAL) else "") + _FULL


def has_two_kinds(registry: str) -> bool:
    """Whether the registry contains full or legacy backward hooks, depending on torch's flag."""
    return len({**OF_MODULES, **OF_PROCESS}.get(registry, ())) > 1


def kind_in(owner: Any, registry: str, kinds: tuple[Kind, ...]) -> Kind:
    """Return the kind of the hooks that are in a registry now."""
    full = getattr(owner, _flag(registry), None) is True
    return next(kind for kind in kinds if kind.full in {None, full})
