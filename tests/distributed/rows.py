"""Reports of ranks made by hand, for merging, judging and drawing."""

from __future__ import annotations

from dataclasses import replace

from hookcli.report.distributed import BucketRow, Distributed, UnreachedRow
from hookcli.report.findings import Measurement
from tests.formats.fabricate import LAYERS, parameter, report, stats

PARAMETERS = (
    parameter("fc.weight", (4, 3), grad=stats(0.5)),
    parameter("fc.bias", (4,), grad=stats(0.25)),
    parameter("table", (4,), "frozen"),
)


def bucket(step=0, index=0, names=("fc.weight", "fc.bias"), error=0.0, norm=1.0, **more):
    known = {
        "order": index, "last": False, "bytes": 64, "dtype": "float32", "norms_before": (norm,),
        "norm_after": 1.0, "norm_exact": 1.0, "wire_bytes": 64, "plain_bytes": 64, **more,
    }  # fmt: skip
    return BucketRow(step=step, index=index, parameters=names, error=error, **known)


def state(name, grad="aa", value="bb", norm=0.5):
    said = {"gradient": grad and {"bits": grad, "norm": norm},
            "parameter value": {"bits": value, "norm": 2.0}}  # fmt: skip
    return Measurement("rank_state", name, None, said, None)


def of_rank(number=0, buckets=None, unreached=(), states=None, losses=(0.5,), **more):
    """What one rank reports of itself."""
    states = [state("fc.weight"), state("fc.bias")] if states is None else states
    made = report("grads", layers=LAYERS, parameters=PARAMETERS, run={"losses": losses})
    own = Distributed(
        backend="gloo",
        parallel="ddp",
        world_size=2,
        hook="allreduce",
        options={},
        buckets=tuple(bucket() for _ in range(1)) if buckets is None else tuple(buckets),
        unreached=tuple(UnreachedRow(name, (number,)) for name in unreached),
    )
    return replace(made, distributed=own, measurements=tuple(states), **more)
