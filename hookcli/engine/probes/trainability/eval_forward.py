"""One forward in eval mode: what it writes to the model, and the dropout that is active in it."""

from __future__ import annotations

from typing import Any

from torch.nn.parameter import is_lazy

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.dropout_watch import DropoutWatch
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.statistics.digest import digest
from hookcli.models.model import Model
from hookcli.report.findings import Measurement

PROBE = "eval_forward"


def eval_forward(again: Rerun) -> dict[str, Any]:
    """Return the buffers and parameters that a forward in eval mode changes, and active dropout."""
    before = _digests(again.model)
    dropout = DropoutWatch()
    with again.running("eval", within=dropout.watching(again.model)):
        after = _digests(again.model)  # the state is restored at the end of the block
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return {
        "buffers": [name for kind, name in changed if kind == "buffer"],
        "parameters": [name for kind, name in changed if kind == "parameter"],
        "tensors": len(before),
        "dropout": dropout.every,
    }


def _digests(model: Model) -> dict[tuple[str, str], str]:
    kinds = {"buffer": model.buffers(), "parameter": model.parameters()}
    return {
        (kind, info.name): digest(info.tensor)
        for kind, infos in kinds.items()
        for info in infos
        if not is_lazy(info.tensor)
    }


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure what one forward in eval mode changes."""
    return single(PROBE, eval_forward(context.again))
