"""Whether modules that never ran would run with other random numbers or other inputs.

Layers that are dropped, candidates that are sampled and experts that samples are sent to run in
some steps only. If the choice among the modules of a list changes, each of them may be chosen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.seeds import has_drawn_any
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.model import Call
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement

PROBE = "other_routes"
_SEEDS = 8
_BATCHES = 3


def other_routes(again: Rerun, missing: frozenset[str]) -> list[str]:
    """Return the modules that the choice of which ones run may reach; [] if it never changes."""
    first = _called(again)
    modules = list(module_tree.named(again.model.root))
    idle = {name for name, _ in modules if name not in first and _has(name, missing)}
    if not idle:
        return []
    varying = first & set(_beside(modules, idle)) if _has_switch(again) else set()
    for ran in _runs(again):
        varying |= ran ^ first
        if idle <= varying:
            break
    chosen = {name for name in idle if name in varying}
    return sorted(chosen | (idle & set(_beside(modules, varying))))


def _beside(modules: list[tuple[str, nn.Module]], names: set[str]) -> Iterator[str]:
    """Yield the modules that are in one list or dictionary with one of these."""
    for name, module in modules:
        if isinstance(module, nn.ModuleList | nn.ModuleDict):
            inside = {f"{name}.{key}" if name else key for key in module._modules}
            if not inside.isdisjoint(names):
                yield from inside


def _has_switch(again: Rerun) -> bool:
    """Return whether forward has a string or an integer that may choose, as the name of a task."""
    given = (*again.batch.args, *again.batch.kwargs.values())
    try:
        signature = inspect.signature(again.model.root.forward)
    except (TypeError, ValueError):
        signature = inspect.Signature()
    defaults = (parameter.default for parameter in signature.parameters.values())
    values = (*given, *defaults)
    return any(type(value) in {str, int} for value in values)


def _has(module: str, parameters: frozenset[str]) -> bool:
    return any(name.startswith(f"{module}.") for name in parameters)


def _runs(again: Rerun) -> Iterator[set[str]]:
    """Yield the modules that run with other seeds, if any are drawn, and with other inputs."""
    with again.running(again.plan.mode):
        draws = has_drawn_any(again.plan.seed, again.device)
    if draws:
        for seed in range(1, _SEEDS + 1):
            yield _called(again, seed=again.plan.seed + seed)
    for number in range(_BATCHES):
        try:
            yield _called(again, batch=_other(again.batch, number))
        except Exception as error:  # noqa: BLE001  # the model may refuse such values
            raise_if_external(error)
            return


def _called(again: Rerun, *, seed: int | None = None, batch: Batch | None = None) -> set[str]:
    """Return the names of the modules that one forward calls."""
    names: set[str] = set()

    def enter(call: Call, _batch: Any) -> None:
        if call.name is not None:
            names.add(call.name)

    within = again.model.observe(enter, lambda *_: None)
    again.forward(again.plan.mode, batch, within=within, seed=seed)
    return names


def _other(batch: Batch, number: int) -> Batch:
    """Return a batch whose tensors have other values, in the range of these."""
    generator = torch.Generator().manual_seed(number)

    def other(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.numel() or tensor.layout is not torch.strided or tensor.is_complex():
            return tensor
        order = torch.randperm(tensor.numel(), generator=generator).to(tensor.device)
        mixed = tensor.detach().reshape(-1)[order].reshape(tensor.shape)
        if tensor.is_floating_point():
            sign = torch.randint(2, tensor.shape, generator=generator).to(tensor.device) * 2 - 1
            mixed = mixed * sign if bool((tensor < 0).any()) else mixed
        return mixed.requires_grad_(tensor.requires_grad)

    return map_batch(batch, other)


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure which idle modules run in other forwards."""
    if not context.lost.missing:
        return []
    return single(PROBE, {"modules": other_routes(context.again, context.lost.missing)})
