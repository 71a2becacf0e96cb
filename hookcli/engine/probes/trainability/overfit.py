"""Trains on one batch for some steps, and restores the model."""

from __future__ import annotations

import math
from typing import Any

import torch

from hookcli.engine.optimizers import make_optimizer
from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.request import Mode

PROBE = "overfit"

# The step sizes that are tried if the request names neither an optimizer nor one of them. 3e-4 is
# the recipe's own; few steps need a larger one, and large models a smaller one.
_LEARNING_RATES = (3e-4, 1e-3, 1e-2)


def overfit(
    again: Rerun, optimizer: OptimizerSpec | None, *, steps: int, drop: float, lr: float | None
) -> dict[str, Any]:
    """Return the losses of a training on one batch, with the optimizer of the request or Adam.

    `losses` are those before each step, then the last one. Training ends when the loss has lost the
    share `drop`, or is not finite. Of several learning rates, the result is that of the first one
    which lowers the loss enough, else of the one which lowers it most.
    """
    best: dict[str, Any] = {}
    for spec in _optimizers(optimizer, lr):
        losses = _losses(again, spec, steps, drop)
        result = {
            "steps": steps,
            "drop": drop,
            "optimizer": spec.name,
            "lr": spec.options.get("lr"),
            "losses": [number(loss) for loss in losses],
        }
        if not best or _lowest(losses) < _lowest([float(loss) for loss in best["losses"]]):
            best = result
        if not losses[0] > 0 or not math.isfinite(losses[0]) or _is_enough(losses, drop):
            break
    return best


def _optimizers(given: OptimizerSpec | None, lr: float | None) -> list[OptimizerSpec]:
    if given is not None:
        options = given.options if lr is None else {**given.options, "lr": lr}
        return [OptimizerSpec(given.name, options)]
    return [OptimizerSpec("Adam", {"lr": rate}) for rate in ((lr,) if lr else _LEARNING_RATES)]


def _lowest(losses: list[float]) -> float:
    return min((loss for loss in losses if math.isfinite(loss)), default=math.inf)


def _is_enough(losses: list[float], drop: float) -> bool:
    return losses[-1] <= (1 - drop) * losses[0]


def _losses(again: Rerun, spec: OptimizerSpec, steps: int, drop: float) -> list[float]:
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    losses: list[float] = []
    with again.training(mode) as forward:
        parameters = [i.tensor for i in again.model.parameters() if i.tensor.requires_grad]
        made = make_optimizer(
            spec, parameters, "run.optimizer", name_place="run.optimizer.name",
            hint="use the keyword arguments of the class as keys",
        )  # fmt: skip
        for _ in range(steps):
            seen: list[float] = []

            def closure(seen: list[float] = seen) -> torch.Tensor:
                """Compute the loss and its gradients; LBFGS calls this several times in a step."""
                made.zero_grad()
                loss = again.loss(forward())
                seen.append(float(loss.detach()))
                again.backward_from(loss)
                return loss

            made.step(closure)  # type: ignore[arg-type]  # torch's type is that of a float
            losses.append(seen[0])
            if not math.isfinite(seen[0]) or _is_enough(losses, drop):
                return losses
        losses.append(float(again.loss(forward()).detach()))
    return losses


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the losses of a training on one batch, for each set of options."""
    rows = []
    for request in requests:
        options = request.given()
        rows += single(
            PROBE,
            {**overfit(context.again, context.spec.run.optimizer, **options), "options": options},
        )
    return rows
