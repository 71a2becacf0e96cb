"""One step of an optimizer over all parameters that require grad: which of them change."""

from __future__ import annotations

import torch

from hookcli.report.findings import Measurement
from hookcli.run.probes.rerun import Rerun
from hookcli.run.statistics.digest import digest
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.request import Mode

PROBE = "step"


def step(again: Rerun, spec: OptimizerSpec) -> list[Measurement]:
    """A measurement for each parameter: whether it is another afterwards."""
    infos = again.model.parameters()
    before = {info.name: digest(info.tensor) for info in infos}
    mode: Mode = "eval" if again.plan.mode == "eval" else "train"
    with again.running(mode) as output:
        again.backward(output)
        make = getattr(torch.optim, spec.name)
        make([i.tensor for i in infos if i.tensor.requires_grad], **spec.options).step()
        after = {info.name: digest(info.tensor) for info in infos}
    return [Measurement(PROBE, name, None, after[name] != before[name], None) for name in before]
