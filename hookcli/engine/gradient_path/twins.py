"""Finds the part of a model that another part is a copy of, as the target network of BYOL is."""

from __future__ import annotations

import torch

from hookcli.engine.gradient_path.cut import Cut
from hookcli.engine.gradient_path.tracer import GradientTracer


def twin_of(tracer: GradientTracer, cut: Cut, parts: list[str]) -> str | None:
    """Return the module that all cut-off parts are a copy of; None if they are not copies.

    A copy has parameters of the same names with equal values, and the original does not use what
    the cut lets through: equal layers one after the other are not copies in this sense.
    """
    twins = [_twin(tracer, cut, part) for part in parts]
    return twins[0] if twins and all(twin is not None for twin in twins) else None


def _twin(tracer: GradientTracer, cut: Cut, part: str) -> str | None:
    own = _below(tracer, part)
    if not part or not own:
        return None
    first = next(iter(own))
    for info in tracer.reach.infos:
        if not info.name.endswith(f".{first}") or info.name.startswith(f"{part}."):
            continue
        other = info.name.removesuffix(f".{first}")
        theirs = _below(tracer, other)
        if _equal(own, theirs) and not _uses(tracer, cut, other):
            return other
    return None


def _below(tracer: GradientTracer, part: str) -> dict[str, torch.Tensor]:
    return {
        info.name.removeprefix(f"{part}."): info.tensor
        for info in tracer.reach.infos
        if info.name.startswith(f"{part}.")
    }


def _equal(own: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return own.keys() == theirs.keys() and all(
        tensor.shape == theirs[name].shape and torch.equal(tensor, theirs[name])
        for name, tensor in own.items()
    )


def _uses(tracer: GradientTracer, cut: Cut, module: str) -> bool:
    """Whether an input of the module has values that went through the cut."""
    return bool(tracer.cuts_into.get(module, 0) & cut.bit)
