"""Compares two runs with the same seed, bit by bit."""

from __future__ import annotations

from typing import Any, Literal

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.dropout_watch import DropoutWatch
from hookcli.engine.probes.rerun import Rerun, copy_of
from hookcli.models.bits import alike, same_bits
from hookcli.models.nested import leaves, shape_of
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.report.values import Number


def compare(tensors: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Return which of the named tensors differ, and the largest change (see `change`)."""
    differ = [
        name
        for name in dict.fromkeys((*tensors, *other))
        if name not in tensors or name not in other or not same_bits(tensors[name], other[name])
    ]
    changes = [change(tensors[n], other[n]) for n in differ if n in tensors and n in other]
    largest = max((c for c in changes if c == c), default=float("nan"))
    names = [n if n.startswith("gradient") else f"output{n}" for n in differ]
    return {"compared": len(tensors), "differ": names, "largest": number(float(f"{largest:.3g}"))}


def change(before: torch.Tensor, after: torch.Tensor) -> float:
    """Return the largest change divided by the largest value.

    It is infinite if the largest value is 0, or if shapes or dtypes differ.
    """
    if shape_of(before) != shape_of(after) or before.dtype != after.dtype:
        return float("inf")
    if before.layout is not torch.strided or before.is_nested or before.numel() == 0:
        return 0.0 if same_bits(before, after) else float("inf")
    before, after = alike(before, after)
    if torch.equal(before, after):
        return 0.0
    wide = torch.complex128 if before.is_complex() else torch.float64
    wide_before, other = before.to(wide), after.to(wide)
    same = (wide_before == other) | (torch.isnan(wide_before) & torch.isnan(other))
    difference = torch.where(same, 0.0, (wide_before - other).abs()).max().item()
    if not difference:
        return 0.0
    size = torch.nan_to_num(wide_before.abs(), 0.0, 0.0, 0.0).max().item()
    return difference / size if size else float("inf")


def repeat(again: Rerun, mode: Literal["eval", "train"]) -> dict[str, Any]:
    """Compare two runs; in train mode also their gradients, if the plan goes backward."""
    if mode == "eval":
        return compare(*again.twice())
    return compare(*(_trained(again) for _ in range(2)))


def _trained(again: Rerun) -> dict[str, torch.Tensor]:
    """Return the outputs of a run in train mode, and its gradients."""
    with again.running("train") as output:
        tensors = {path: copy_of(tensor) for path, tensor, _ in leaves(output)}
        if again.plan.goes_backward:
            again.backward(output)
            for info in again.model.parameters():
                if info.tensor.grad is not None:
                    tensors[f"gradient of {info.name}"] = info.tensor.grad.clone()
        return tensors


def as_number(value: float) -> Number:
    """Return a number rounded to three digits, in a form that strict JSON supports."""
    return number(float(f"{value:.3g}"))


# A draw of random or numpy, which no hook sees.
_OF_PYTHON = {"function": "random", "name": None, "module": None, "place": None}


def repeat_in_eval(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure whether two runs in eval mode differ, and what is random in them.

    Only if the last of them drew random numbers, a third one is watched: hooks would make PyTorch
    take other paths than in the runs of later probes.
    """
    again = context.again
    value = repeat(again, "eval")
    dropout = DropoutWatch()
    random: list[dict[str, Any]] = []
    if again.draws_any:
        other = again.plan.seed + 1
        outputs = again.forward("eval", within=dropout.watching(again.model), seed=other)
        changes = compare(again.twice()[0], outputs)["differ"] and not value.get("differ")
        if changes and not dropout.every:
            random = dropout.random or ([] if dropout.samples else [_OF_PYTHON])
    active = {"dropout": dropout.by_default, "random": random}
    return [*single("repeat_eval", value), *single("eval_dropout", active)]


def repeat_in_train(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure whether two runs in train mode differ."""
    return single("repeat_train", repeat(context.again, "train"))
