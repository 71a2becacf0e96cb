"""Finds the hooks on a model, in one pass over its modules.

Hooks on autograd nodes are missing: torch does not tell which ones an AccumulateGrad node has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.utils.parametrize import ParametrizationList
from torch.optim import optimizer as torch_optimizer

from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.models import module_tree
from hookcli.models.existing_hooks.features import (
    ACCELERATE,
    DDP,
    PARAMETRIZE,
    TORCHSCRIPT,
    computed_tensor,
    feature_of,
    is_ours,
)
from hookcli.models.existing_hooks.function_names import (
    in_multi_grad,
    innermost,
    name_class,
    name_function,
)
from hookcli.models.existing_hooks.registries import (
    OF_MODULES,
    OF_OPTIMIZERS,
    OF_PROCESS,
    OF_TENSORS,
    Registered,
    kind_in,
)
from hookcli.models.scripted import type_of
from hookcli.report.existing_hook import PARAMETRIZATION, PATCHED_FORWARD, ExistingHook
from hookcli.torch_private import DisableTorchFunctionSubclass, top_saved_tensors_hooks

_JOINT = CATALOGUE["multi_grad"].name
_SAVED = CATALOGUE["saved_tensors"].name
_AVERAGING = CATALOGUE["ddp_comm"]
PARAMETRIZATIONS = "parametrizations"  # torch's submodule of a parametrized module
# Attributes that accelerate sets: its hook, and the forward that it replaced.
_HF_HOOK, _OLD_FORWARD = "_hf_hook", "_old_forward"
_MARKS = {_AVERAGING.registry, _HF_HOOK, _OLD_FORWARD}


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook and what torch calls, and where torch keeps it; None: it cannot be removed."""

    row: ExistingHook
    hook: Any
    registered: Registered | None


@dataclass(frozen=True, slots=True)
class _Site:
    """What a hook is on, as its row names it."""

    module: str | None = None
    tensor: str | None = None
    aliases: tuple[str, ...] = ()
    type: str | None = None


_Modules: TypeAlias = list[tuple[nn.Module, list[str]]]


def find_hooks(
    root: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer] = (),
    *,
    modules: _Modules | None = None,
) -> list[FoundHook]:
    """Return the hooks on modules, in the order of modules, then on tensors, then global ones.

    Those of one kind on one module are in the order in which torch calls them. A shared module or
    tensor is listed once, under its first name. Hooks that hookcli attached are omitted. `modules`
    are those of `module_tree.modules`, if they are known.
    """
    modules = module_tree.modules(root) if modules is None else modules
    with DisableTorchFunctionSubclass():  # attributes of tensors could run user code
        return [*_hooks(root, modules, optimizers)]


def existing_hooks(root: nn.Module, modules: _Modules | None = None) -> tuple[ExistingHook, ...]:
    """Return the rows of the hooks on a model, for its report."""
    return tuple(found.row for found in find_hooks(root, modules=modules))


def _hooks(
    root: nn.Module, modules: _Modules, optimizers: Sequence[torch.optim.Optimizer]
) -> Iterator[FoundHook]:
    on_tensors = False
    for module, names in modules:
        attributes = vars(module)
        if (
            any(map(attributes.get, OF_MODULES))
            or PARAMETRIZATIONS in module._modules
            or not _MARKS.isdisjoint(attributes)
        ):
            yield from _on_module(module, attributes, names)
        on_tensors = on_tensors or _has_tensor_hooks(module)
    if on_tensors:
        yield from _on_tensors(root)
    for optimizer in optimizers:
        yield from _in_registries(optimizer, OF_OPTIMIZERS, _Site(type=type(optimizer).__name__))
    for owner in (torch_module, torch_optimizer):
        yield from _in_registries(owner, OF_PROCESS, _Site())
    saved = None if top_saved_tensors_hooks is None else top_saved_tensors_hooks(True)
    if saved is not None:
        yield from _found(_SAVED, saved[0], _Site(), None)


def _on_module(
    module: nn.Module, attributes: Mapping[str, Any], names: list[str]
) -> Iterator[FoundHook]:
    site = _Site(names[0], None, tuple(names[1:]), type_of(module))
    yield from _in_registries(module, OF_MODULES, site)
    yield from _parametrizations(module, site)
    yield from _patched_forward(module, attributes, site)
    if type(module) is nn.parallel.DistributedDataParallel:
        for hook, _state in attributes.get(_AVERAGING.registry, ()):
            yield from _found(_AVERAGING.name, hook, site, None, feature=DDP)


def _in_registries(
    owner: Any, registries: Mapping[str, tuple[Kind, ...]], site: _Site
) -> Iterator[FoundHook]:
    """Yield the hooks that torch keeps for an owner, kind by kind."""
    for registry, kinds in registries.items():
        table = getattr(owner, registry, None)
        if table:
            kind = kind_in(owner, registry, kinds).name
            for key, hook in [*table.items()]:
                yield from _found(kind, hook, site, Registered(owner, registry, key))


def _found(
    kind: str,
    hook: Any,
    site: _Site,
    registered: Registered | None,
    *,
    feature: str | None = None,
) -> Iterator[FoundHook]:
    """Yield a hook, unless hookcli attached it. `feature` replaces that of its function."""
    inner = innermost(hook)
    function = name_function(inner)
    if is_ours(function):
        return
    if type(inner) is torch.jit.ScriptFunction:
        feature = TORCHSCRIPT
    feature = feature or feature_of(function)
    row = ExistingHook(
        kind=kind if in_multi_grad(hook) is None else _JOINT,
        module=site.module,
        tensor=site.tensor or computed_tensor(inner, feature),
        aliases=site.aliases,
        type=site.type,
        function=function.name,
        place=function.place,
        feature=feature,
        options=() if registered is None else registered.options(),
    )
    yield FoundHook(row, hook, registered)


def _parametrizations(module: nn.Module, site: _Site) -> Iterator[FoundHook]:
    """Yield each parametrization of each tensor of a module, in the order of their use."""
    if PARAMETRIZATIONS not in module._modules:  # scripted modules lack `get`
        return
    lists = module._modules[PARAMETRIZATIONS]
    for name, parametrized in () if lists is None else lists._modules.items():
        if type(parametrized) is ParametrizationList:
            registered = Registered(module, PARAMETRIZATIONS, name)
            for child in parametrized._modules.values():
                row = _of_class(PARAMETRIZATION, type(child), site, name, PARAMETRIZE)
                yield FoundHook(row, child, registered)


def _patched_forward(
    module: nn.Module, attributes: Mapping[str, Any], site: _Site
) -> Iterator[FoundHook]:
    """Yield the hook of accelerate, which replaced the forward of a module."""
    hook = attributes.get(_HF_HOOK)
    if hook is not None:
        row = _of_class(PATCHED_FORWARD, type(hook), site, None, ACCELERATE)
        yield FoundHook(row, hook, Registered(module, "__dict__", _HF_HOOK))
    elif _OLD_FORWARD in attributes and "forward" in attributes:
        yield from _found(PATCHED_FORWARD, attributes["forward"], site, None, feature=ACCELERATE)


def _of_class(kind: str, made: type, site: _Site, tensor: str | None, feature: str) -> ExistingHook:
    function = name_class(made)
    return ExistingHook(
        kind=kind,
        module=site.module,
        tensor=tensor,
        aliases=site.aliases,
        type=site.type,
        function=function.name,
        place=function.place,
        feature=feature,
    )


def _has_tensor_hooks(module: nn.Module) -> bool:
    for table in ("_parameters", "_buffers"):
        for _, tensor in module_tree.entries(module, table, torch.Tensor):
            if tensor._backward_hooks or tensor._post_accumulate_grad_hooks:
                return True
    return False


def _on_tensors(root: nn.Module) -> Iterator[FoundHook]:
    """Yield the hooks on parameters and buffers; a shared tensor is under its first name."""
    for table in ("_parameters", "_buffers"):
        for tensor, names, owner in module_tree.tensors(root, table):
            module, _, name = names[0].rpartition(".")
            site = _Site(module, name, tuple(names[1:]), type_of(owner))
            yield from _in_registries(tensor, OF_TENSORS, site)
