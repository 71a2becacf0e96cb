"""The gradient of a step by its samples, from a replay of its forwards.

The gradients of the outputs are those of the step itself, labels and loss included. The forwards
run again from the same states of the random generators. The sum over all samples is compared with
the gradient of the step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.probes.rerun import copied
from hookcli.engine.probes.samples.row_gradients import (
    LARGEST,
    SampleRows,
    SamplesUnknownError,
    given_by_loss,
    norm_of_all,
    norms_by_sample,
)
from hookcli.models.batch import Batch
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.nested import leaves
from hookcli.training.non_finite.forward_call import ForwardCall

_SAME = 1e-2  # how much a replayed gradient may differ, relative to its norm


def by_sample(
    root: nn.Module, parameters: Sequence[torch.Tensor], calls: Sequence[ForwardCall]
) -> dict[str, Any]:
    """Return the fields of `SpikeSamples`.

    `parameters` have the gradient of the step. The forwards run again in this process, and change
    buffers and the states of generators.
    """
    own = [p for p in parameters if p.requires_grad and p.grad is not None]
    try:
        return _of_step(root, own, calls)
    except SamplesUnknownError as error:
        return {"why": str(error)}
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
        return {"why": f"the replay failed: {' '.join(str(error).split())[:200]}"}


def _of_step(
    root: nn.Module, own: list[torch.Tensor], calls: Sequence[ForwardCall]
) -> dict[str, Any]:
    found = norms_by_sample([_repeat(root, call) for call in calls], own)
    factor = _factor(found.total, own)
    ordered = sorted(found.norms, key=lambda row: -row[2])
    count = len(ordered)
    return {
        "count": count,
        "median": ordered[(count - 1) // 2][2] * factor,
        "largest": [[*row[:2], row[2] * factor] for row in ordered[:LARGEST]],
        "dominant": [[*row[:2], row[2] * factor] for row in found.dominant],
        "without": None if found.without is None else found.without * factor,
    }


def _repeat(root: nn.Module, call: ForwardCall) -> SampleRows:
    """Run a forward again; its outputs have the gradients that training gave them."""
    if call.is_changed():
        raise SamplesUnknownError("the batch was changed in place after the forward")
    if not call.gradients or not call.has_all_gradients:
        raise SamplesUnknownError(
            "the gradient of the outputs is too large to be kept, or not known"
        )
    batch = Batch(call.args, call.kwargs)
    outputs = _forward(root, call, batch)
    starts = [gradient.detach() for gradient in call.gradients.values()]
    if outputs is None or any(o.shape != s.shape for o, s in zip(outputs, starts, strict=True)):
        raise SamplesUnknownError("a replay of the forward gave other outputs")
    rows = SampleRows(outputs, given_by_loss(outputs, starts), batch)
    rows.find_samples(root, lambda other: _forward(root, call, other))
    return rows


def _forward(root: nn.Module, call: ForwardCall, batch: Batch) -> list[torch.Tensor] | None:
    """Return the outputs that got a gradient in the step; None if some are not there."""
    call.generators.restore()
    given = copied(batch)
    with run_eagerly(), room_for_hooks(), torch.enable_grad(), call.autocast.again():
        output = root(*given.args, **given.kwargs)
    made = {i: t for i, (_, t, _) in enumerate(leaves(output)) if t.requires_grad}
    return [made[i] for i in call.gradients] if call.gradients.keys() <= made.keys() else None


def _factor(total: Sequence[torch.Tensor], own: Sequence[torch.Tensor]) -> float:
    """Return the factor from the replayed gradient to that of the step, as of clipping.

    Raises
    ------
    SamplesUnknownError : they do not have the same direction.
    """
    whole, product, square = norm_of_all(total), 0.0, 0.0
    for one, parameter in zip(total, own, strict=True):
        grad = torch.zeros_like(one) if parameter.grad is None else parameter.grad.double()
        product += float((one * grad).sum())
        square += float(grad.square().sum())
    if not whole or not square or not math.isfinite(whole):
        raise SamplesUnknownError("the gradient of the replay is zero, or not finite")
    if product < (1 - _SAME**2) * whole * math.sqrt(square):  # the cosine of the angle
        raise SamplesUnknownError("a replay of the step gave another gradient than the step")
    return math.sqrt(square) / whole


def encode(found: dict[str, Any]) -> bytes:
    """Return what was found as bytes, to leave a copy of the process."""
    return json.dumps(found).encode()


def decode(text: bytes) -> dict[str, Any]:
    """Return what `encode` wrote."""
    found: dict[str, Any] = json.loads(text)
    return found
