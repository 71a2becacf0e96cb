"""Finds the parameters that one optimizer step changes, over all that require grad."""

from __future__ import annotations

import torch

from hookcli.engine.probes.context import Requests, RerunContext
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.statistics.digest import digest
from hookcli.report.findings import Measurement
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.request import Mode

PROBE = "step"


def step(again: Rerun, spec: OptimizerSpec) -> list[Measurement]:
    """Return a measurement for each parameter: whether the step changed it."""
    infos = again.model.parameters()
    before = {info.name: digest(info.tensor) for info in infos}
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    with again.running(mode) as output:
        again.backward(output)
        make = getattr(torch.optim, spec.name)
        make([i.tensor for i in infos if i.tensor.requires_grad], **spec.options).step()
        after = {info.name: digest(info.tensor) for info in infos}
    return [Measurement(PROBE, name, None, after[name] != before[name], None) for name in before]


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure which parameters a step with the optimizer of the request changes, or with SGD."""
    return step(context.again, context.spec.run.optimizer or OptimizerSpec())
