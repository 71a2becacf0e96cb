"""Reports made by hand, of a net with two layers, for the views to draw."""

from __future__ import annotations

from hookcli.report.events import EventRow
from hookcli.report.report import (
    Environment,
    LayerRow,
    ModelInfo,
    ParameterRow,
    Report,
    RunInfo,
    Totals,
)
from hookcli.report.values import Leaf

X, H, Y = Leaf("[0]", (2, 3), "float32"), Leaf("", (2, 4), "float32"), Leaf("", (2, 1), "float32")


def stats(norm, **more):
    known = {"numel": 8, "norm": norm, "mean": 0.01, "std": 0.2, "min": -0.3, "max": 0.4}
    return {**known, "abs_max": 0.4, "zeros": 0, "nans": 0, "infs": 0, **more}


def layer(order, name, kind, parent, *, inputs=(X,), outputs=(H,), call=0, **more):
    return LayerRow(
        order=order,
        name=name,
        registered=name is not None,
        aliases=(),
        type=kind,
        original_name=None,
        call=call,
        parent=parent,
        depth=0 if parent is None else 1,
        training=True,
        place=f"net.py:{order + 3}",
        inputs=inputs,
        outputs=outputs,
        own_parameters=0,
        parameters=16,
        trainable_parameters=16,
        **more,
    )


def event(seq, phase, kind, target, call=None, values=(), **more):
    known = {"step": 0, "node": None, "hook": None, **more}
    return EventRow(seq=seq, phase=phase, kind=kind, target=target, call=call, values=values,
                    **known)  # fmt: skip


def parameter(name, shape, status="ok", grad=None, weight=2.0, ratio=None, **more):
    known = {"shared_with": (), "requires_grad": status != "frozen", **more}
    numel = 1
    for size in shape:
        numel *= size
    return ParameterRow(
        name=name,
        module_type="Linear",
        shape=shape,
        dtype="float32",
        numel=numel,
        stats=stats(weight),
        grad=grad,
        grad_to_weight=ratio,
        status=status,
        **known,
    )


def report(command, *, run=None, totals=None, **more):
    ran = {"device": "cpu", "loss": "probe", "losses": (0.5,), **(run or {})}
    return Report(
        schema="hookcli.report/1",
        command=command,
        status="complete",
        environment=Environment("0.1", "2.13", "3.11", "Linux", 0.1),
        model=ModelInfo("net.py", "python", "Net", "net.py:3"),
        run=RunInfo(tensors="real", fallback=None, mode="train", seed=0, **ran),
        inputs=None,
        totals=totals or Totals(3, 3, 21, grad_norm=1.25),
        **more,
    )


LAYERS = (
    layer(0, "", "Net", None, outputs=(Y,), output_grad=stats(1.0), input_grad=stats(0.5)),
    layer(1, "fc", "Linear", 0, output_grad=stats(0.25), input_grad=stats(1e-4)),
    layer(2, "head", "Linear", 0, inputs=(H,), outputs=(Y,), output_grad=stats(1.0)),
)
EVENTS = (
    event(0, "forward", "forward_pre", "", 0, (X,)),
    event(1, "forward", "forward_pre", "fc", 0, (X,)),
    event(2, "forward", "forward", "fc", 0, (H,)),
    event(3, "forward", "forward_pre", "head", 0, (H,)),
    event(4, "forward", "forward", "head", 0, (Y,)),
    event(5, "forward", "forward", "", 0, (Y,)),
    event(6, "backward", "tensor", "fc:output", 0, (H,)),
    event(7, "backward", "post_accumulate_grad", "fc.weight", None, (Leaf("", (4, 3), "float32"),)),
)
TRACE = report("trace", layers=LAYERS, events=EVENTS)
PARAMETERS = (
    parameter("fc.weight", (4, 3), grad=stats(0.5), ratio=0.25, shared_with=("head.weight",)),
    parameter("fc.bias", (4,), "zero", grad=stats(0.0, zeros=4), ratio=0.0),
    parameter("head.bias", (1,), "none"),
    parameter("scale", (1,), "non_finite", grad=stats("nan", nans=1), ratio="nan"),
    parameter("table", (4,), "frozen"),
)
GRADS = report("grads", layers=LAYERS, parameters=PARAMETERS)
