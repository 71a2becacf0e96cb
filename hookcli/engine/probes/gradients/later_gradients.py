"""Whether gradients that are zero in the first step are so after some steps too.

A weight that is initialized with zeros stops the gradient of what it is multiplied with, until a
step has changed it. Several such weights one behind the other need a step each.
"""

from __future__ import annotations

import torch

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.report.findings import Measurement
from hookcli.spec.request import Mode

PROBE = "later_gradients"
_STEPS = 4  # two levels of zeros, as in a DiT, need three
_SIZE = 1e-3  # of a step, for every element: a usual learning rate of Adam


def later_gradients(again: Rerun, zero: frozenset[str]) -> list[Measurement]:
    """Return which of the parameters get a gradient after some steps.

    Each step changes every element by as much, towards a lower loss, as the first step of Adam
    does. Steps end when all have a gradient, or when a step gives none of them one.
    """
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    left, steps = set(zero), 0
    with again.training(mode) as forward:
        trained = [info for info in again.model.parameters() if info.tensor.requires_grad]
        for step in range(_STEPS + 1):
            for info in trained:
                info.tensor.grad = None
            again.backward_from(again.loss(forward()))
            grads = {i.name: i.tensor.grad for i in trained if i.tensor.grad is not None}
            now = {name for name in left if name not in grads or not bool(grads[name].any())}
            if now != left:
                left, steps = now, step
            elif step:
                break
            if not left or step == _STEPS:
                break
            _step(grads, {info.name: info.tensor for info in trained})
    value = {"steps": steps, "reached": sorted(zero - left), "still": sorted(left)}
    return single(PROBE, value)


@torch.no_grad()
def _step(grads: dict[str, torch.Tensor], tensors: dict[str, torch.Tensor]) -> None:
    for name, grad in grads.items():
        tensors[name].data.sub_(grad.sgn() * _SIZE)  # the version stays, for graphs of the user


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the gradients of later steps."""
    if not context.lost.zero or not context.again.plan.grad:
        return []
    return later_gradients(context.again, context.lost.zero)
