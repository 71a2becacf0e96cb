"""How much one optimizer step changes each parameter."""

from __future__ import annotations

import torch

from hookcli.engine.optimizers import make_optimizer
from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.request import Mode

PROBE = "update"


def update(again: Rerun, spec: OptimizerSpec) -> list[Measurement]:
    """Return the 2-norms of each trainable parameter and of its change in the first step.

    The measurement without a target has the optimizer.
    """
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    with again.training(mode) as forward:
        trained = [info for info in again.model.parameters() if info.tensor.requires_grad]
        made = make_optimizer(
            spec, [info.tensor for info in trained], "run.optimizer",
            name_place="run.optimizer.name", hint="use the keyword arguments of the class as keys",
        )  # fmt: skip
        before = [info.tensor.detach().clone() for info in trained]

        def closure() -> torch.Tensor:
            made.zero_grad()
            loss = again.loss(forward())
            again.backward_from(loss)
            return loss

        made.step(closure)  # type: ignore[arg-type]  # torch's type is that of a float
        rates = [group.get("lr") for group in made.param_groups]
        lr = rates[0] if isinstance(rates[0], float | int) else None
        about = {"optimizer": spec.name, "lr": lr}
        return [
            Measurement(PROBE, "", None, about, None),
            *(
                Measurement(PROBE, info.name, None, _norms(info.tensor, old), None)
                for info, old in zip(trained, before, strict=True)
            ),
        ]


def _norms(tensor: torch.Tensor, old: torch.Tensor) -> dict[str, object]:
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    new, was = tensor.detach().to(wide), old.to(wide)
    weight, change = (torch.linalg.vector_norm(t).item() for t in (was, new - was))
    return {"weight": number(weight), "change": number(change), "graded": tensor.grad is not None}


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the change by one step with the optimizer of the request."""
    optimizer = context.spec.run.optimizer
    if optimizer is None:
        return single(PROBE, {"why": "the run has no optimizer: set `run.optimizer`"})
    return update(context.again, optimizer)
