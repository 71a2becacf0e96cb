"""Shards the model with FSDP2's `fully_shard`: each module that the policy names is one unit."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parameter import is_lazy

from hookcli.errors import ModelError, RequestError
from hookcli.models import module_tree
from hookcli.report.distributed import UnitRow
from hookcli.sentences import no_match
from hookcli.spec.request import DistributedSpec
from hookcli.text import first_line


def _chosen(root: nn.Module, globs: tuple[str, ...]) -> list[tuple[str, nn.Module]]:
    """Return the modules to shard as units, inner modules first."""
    named = [
        (names[0], module) for module, names in module_tree.modules(root) if module is not root
    ]
    if globs:
        candidates = [(n, m) for n, m in named if any(fnmatchcase(n, glob) for glob in globs)]
    else:
        lists = {n for n, m in named if isinstance(m, nn.ModuleList)}
        candidates = [(n, m) for n, m in named if n.rpartition(".")[0] in lists]
        candidates += [(n, m) for n, m in named if isinstance(root, nn.ModuleList) and "." not in n]
    able = [(n, m) for n, m in candidates if not isinstance(m, nn.ModuleList | nn.ModuleDict)]
    return list(reversed([(n, m) for n, m in able if any(True for _ in m.parameters())]))


def _unmatched(root: nn.Module, globs: tuple[str, ...]) -> str | None:
    names = [name for _, module_names in module_tree.modules(root) for name in module_names]
    return next((g for g in globs if not any(fnmatchcase(n, g) for n in names)), None)


def shard(
    root: nn.Module, spec: DistributedSpec, device: torch.device, world: int
) -> tuple[UnitRow, ...]:
    """Shard the model in place, and return a row for each unit.

    Raises
    ------
    RequestError, ModelError : a glob of the policy matches nothing, or torch rejects a module.
    """
    unmatched = _unmatched(root, spec.wrap)
    if unmatched is not None:
        raise RequestError(
            no_match("module", unmatched),
            place=f"{spec.place}.wrap",
            hint="run `hookcli inspect` to see the names of the modules",
        )
    _check_parts(root, spec.place)
    mesh = init_device_mesh(device.type, (world,))
    units = [*_chosen(root, spec.wrap), ("", root)]
    options: dict[str, Any] = {}
    if spec.reshard_after_forward is not None:
        options["reshard_after_forward"] = spec.reshard_after_forward
    parameters = _parameters_of(root, units)
    for name, module in units:
        try:
            fully_shard(module, mesh=mesh, **options)
        except (RuntimeError, ValueError, NotImplementedError, AssertionError) as error:
            raise ModelError(
                f"fully_shard does not support {name or 'the model'}: {first_line(str(error))}",
                place=spec.place,
                hint="name other modules in run.distributed.wrap (the model itself comes last)",
            ) from None
        _restore_name(module)
    parts = {names[0]: _local(p) for p, names, _ in module_tree.tensors(root, "_parameters")}
    return tuple(
        UnitRow(
            module=name,
            parameters=tuple(own),
            bytes=sum(own.values()),
            shard_bytes=sum(parts.get(parameter, 0) for parameter in own),
        )
        for name, own in reversed(parameters)
        if own
    )


def _check_parts(root: nn.Module, place: str) -> None:
    """Raise a ModelError if the model has no parameters, or uninitialized ones."""
    parameters = [p for p, _, _ in module_tree.tensors(root, "_parameters")]
    if not parameters or any(map(is_lazy, parameters)):
        why = "has uninitialized parameters" if parameters else "has no parameters"
        raise ModelError(
            f"the model cannot be sharded: it {why}", place=place, hint="omit `--parallel fsdp`"
        )


def _restore_name(module: nn.Module) -> None:
    """Give the class that torch made for a sharded module the name of the original class."""
    kind = type(module)
    base = next((parent for parent in kind.__bases__ if parent is not FSDPModule), None)
    if base is not None and FSDPModule in kind.__bases__:
        for name in ("__name__", "__qualname__", "__module__"):
            setattr(kind, name, getattr(base, name))


def _parameters_of(
    root: nn.Module, units: list[tuple[str, nn.Module]]
) -> list[tuple[str, dict[str, int]]]:
    """Return the parameters of each unit with their bytes, without those of inner units."""
    names = {id(p): names[0] for p, names, _ in module_tree.tensors(root, "_parameters")}
    taken: set[int] = set()
    sizes = []
    for name, module in units:
        own = [p for p in module.parameters() if id(p) not in taken]
        taken.update(map(id, own))
        sizes.append((name, {names[id(p)]: p.numel() * p.element_size() for p in own}))
    return sizes


def _local(parameter: Any) -> int:
    """Return the bytes of a parameter on this rank."""
    part = parameter.to_local() if hasattr(parameter, "to_local") else parameter
    return int(part.numel() * part.element_size())
