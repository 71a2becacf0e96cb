"""Whether a batch of one sample has the outputs of one: `squeeze` may remove its dimension."""

from __future__ import annotations

from typing import Any

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.probes.samples.batch_independence import number_of_samples, taken
from hookcli.models.failures import message_of, type_name
from hookcli.models.nested import shape_of
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.text import first_line

PROBE = "one_sample"


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the shapes of the outputs of one sample."""
    return single(PROBE, _measured(context.again))


def _measured(again: Rerun) -> dict[str, Any]:
    size = number_of_samples(again.batch, 0) or 0
    if size < 2:
        return {"why": "the batch has one sample"}
    base = again.twice()[0]
    try:
        alone = again.forward("eval", taken(again.batch, 0, [0]))
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        return {"failed": f"{type_name(error)}: {first_line(message_of(error))}"}
    for path, tensor in base.items():
        shape = shape_of(tensor)
        if not shape or shape[0] != size or path not in alone:
            continue
        other = shape_of(alone[path])
        if len(other) < len(shape):
            return {"output": path, "of_one": [*other], "expected": [1, *shape[1:]]}
    return {"why": "the output of one sample has the dimension of samples"}
