"""Which trainable parameters a backward pass does not reach, from a run of its own."""

from __future__ import annotations

import torch

from hookcli.inputs.batch import Batch
from hookcli.models.base import Model
from hookcli.models.trees import leaves
from hookcli.run.plan import Plan
from hookcli.run.probes.again import Again


def unreached(model: Model, batch: Batch, plan: Plan) -> list[str] | None:
    """Their names; None where the model raises, which the run itself will tell better.

    A look at the graph would miss what a checkpoint recomputes, so that this goes backward.
    """
    if not plan.goes_backward:
        return []
    again = Again(model, batch, plan, "cpu")
    try:
        with again.running("eval" if plan.mode == "eval" else "train") as output:
            if plan.backward.gradient is None:
                again.backward(output)
            else:
                start = next(t for _, t, _ in leaves(output) if t.requires_grad)
                torch.autograd.backward(start, torch.ones_like(start))
            return [
                info.name
                for info in model.parameters()
                if info.tensor.requires_grad and info.tensor.grad is None
            ]
    except Exception:  # noqa: BLE001  # the user's code may raise anything
        return None
