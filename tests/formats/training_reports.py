"""Reports of training scripts, as `hookcli run` writes them, made without a run.

The curves are those of small functions, so that figures can be checked by hand.
"""

from __future__ import annotations

import dataclasses
import math

from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import (
    Environment,
    LayerRow,
    ModelInfo,
    ParameterRow,
    Report,
    RunInfo,
    Totals,
)
from hookcli.report.steps import OptimizerInfo, StepRow, TrainingInfo, UpdateRow
from hookcli.report.training import (
    FirstNonFinite,
    OtherModule,
    ScriptInfo,
    Tracking,
    TrainingReport,
)
from hookcli.report.values import Leaf
from tests.formats.fabricate import event

ENVIRONMENT = Environment("0.1", "2.13", "3.11", "Linux", 4.2)
IMAGES = Leaf("[0]", (64, 1, 28, 28), "float32")
_LEAF = Leaf("", (64, 10), "float32")


def statistics(norm, numel=100, **more):
    known = {"numel": numel, "norm": norm, "mean": 0.0, "std": 0.1, "min": -0.3, "max": 0.4}
    return {**known, "abs_max": 0.4, "zeros": 0, "nans": 0, "infs": 0, **more}


def sampled_steps(total, every=100):
    """The default selection, with the last step."""
    picked = {step for step in range(total) if step < 3 or step % every == 0}
    return sorted(picked | {total - 1}) if total else []


def parameter(name, shape, kind, steps, *, status="ok", scale=1.0):
    """A parameter whose gradient has the norm scale / (step + 1) at each sampled step."""
    numel = math.prod(shape)

    def grad(step):
        if status == "none":
            return None
        if status == "zero":
            return statistics(0.0, numel, zeros=numel)
        if status == "non_finite" and step == steps[-1]:
            return statistics("nan", numel, nans=numel)
        return statistics(scale / (step + 1), numel)

    def word(step):
        return "ok" if status == "non_finite" and step != steps[-1] else status

    rows = tuple({"step": step, "grad": grad(step), "status": word(step)} for step in steps)
    last = rows[-1]["grad"] if rows else None
    return ParameterRow(
        name=name,
        module_type=kind,
        shape=shape,
        dtype="float32",
        numel=numel,
        requires_grad=True,
        stats=statistics(2.0, numel),
        grad=last,
        grad_to_weight=None if last is None else (
            last["norm"] if isinstance(last["norm"], str) else last["norm"] / 2
        ),
        steps=rows,
        status=status if steps else None,
    )  # fmt: skip


def layer(order, name, kind, parent=None, place="train.py:7"):
    return LayerRow(
        order=order, name=name, registered=True, aliases=(), type=kind, original_name=None, call=0,
        parent=parent, depth=0 if parent is None else 1, training=True, place=place,
        inputs=(IMAGES,), outputs=(_LEAF,), own_parameters=0, parameters=16,
        trainable_parameters=16, output_grad=statistics(0.5), input_grad=statistics(0.1),
    )  # fmt: skip


def step_row(step, sampled, **more):
    """A step whose loss falls from 2.3 and whose gradient norm falls from 4."""
    known = {
        "loss": 2.3 / (1 + 0.05 * step),
        "grad_norm": 4.0 / (1 + 0.05 * step),
        "lr": 0.01,
    }
    if sampled:
        known |= {
            "sampled": True, "weight_norm": 20.0, "update_norm": 0.02, "update_ratio": 0.001,
            "missing": 0, "zero": 0, "non_finite": 0,
        }  # fmt: skip
    return StepRow(**{"step": step, "forwards": 1, "backwards": 1, **known, **more})


SMALL = (
    ("conv1.weight", (32, 1, 3, 3), "Conv2d"),
    ("conv1.bias", (32,), "Conv2d"),
    ("conv2.weight", (64, 32, 3, 3), "Conv2d"),
    ("conv2.bias", (64,), "Conv2d"),
    ("fc1.weight", (128, 9216), "Linear"),
    ("fc1.bias", (128,), "Linear"),
    ("fc2.weight", (10, 128), "Linear"),
    ("fc2.bias", (10,), "Linear"),
)
ADADELTA = OptimizerInfo("Adadelta", 8, 0, 1, {"lr": 1.0, "rho": 0.9, "weight_decay": 0.0})


def record(
    name="Net",
    *,
    total=938,
    parameters=SMALL,
    statuses=None,
    optimizer=ADADELTA,
    steps=None,
    every=1,
    command="grads",
    kind="Net",
    place="train.py:6",
    events=(),
    checks=(),
    warnings=(),
    **training,
):
    """The record of one root and one optimizer."""
    sampled = sampled_steps(total)
    if steps is None:
        steps = tuple(
            step_row(step, step in sampled)
            for step in range(total)
            if step % every == 0 or step in sampled
        )
    rows = tuple(
        parameter(one, shape, type_, sampled, status=(statuses or {}).get(one, "ok"),
                  scale=10.0 ** -i)
        for i, (one, shape, type_) in enumerate(parameters)
    )  # fmt: skip
    known = {
        "root": name, "root_type": kind, "wrappers": (), "unit": "optimizer", "skipped": 0,
        "calls": total, "evaluations": 0, "graphless": 0, "never_zeroed": False,
    }  # fmt: skip
    numel = sum(row.numel or 0 for row in rows)
    modules = dict.fromkeys(one.rpartition(".")[0] for one, _, _ in parameters)
    return Report(
        schema="hookcli.report/1",
        command=command,
        status="complete",
        environment=ENVIRONMENT,
        model=ModelInfo("train.py", "python", kind, place, numel, numel, numel * 4, 0, 0),
        run=RunInfo("real", None, "train", "cpu", 0, "nll_loss"),
        inputs=None,
        totals=Totals(1 + len(modules), 1 + len(modules), numel, grad_norm=0.5),
        layers=(
            layer(0, "", kind),
            *(layer(i, one, "Conv2d", 0) for i, one in enumerate(modules, 1)),
        ),
        parameters=rows,
        events=events,
        checks=checks,
        warnings=warnings,
        training=TrainingInfo(
            record=name,
            optimizer=optimizer,
            total=total,
            every=every,
            sampled=tuple(sampled),
            steps=steps,
            updates=tuple(
                UpdateRow(row.name, tuple(0.001 for _ in sampled), row.status != "none")
                for row in rows
            ),
            **{**known, **training},
        ),
    )


def training(*records, script=None, tracking=None, **more):
    """The report of a script with these records."""
    return TrainingReport(
        schema="hookcli.run/1",
        status="complete",
        environment=ENVIRONMENT,
        script=script or ScriptInfo("train.py", ("--epochs", "1"), False, "completed", 0),
        tracking=tracking or Tracking("grads", "0-2,every:100", None, None, False),
        records=records,
        **more,
    )


ADAM = OptimizerInfo("Adam", 4, 0, 1, {"lr": 2e-4})
FINDING = CheckRow(
    "parameter_never_changes", "aux.weight", "fail", "warning", 0, 1,
    "aux.weight did not change in 938 steps, though SGD holds it", "train.py:12", "a" * 16,
)  # fmt: skip
PASSED = CheckRow("lr_zero", "", "pass", "error", None, None, "the learning rate is 0.01",
                  None, "b" * 16)  # fmt: skip
PROBLEM = Diagnosis(
    "loss_not_finite", "error", "the loss became NaN at step 412: it was made in fc2 (Linear)",
    "lower the learning rate, or clip gradients", "fc2", "train.py:21", ("finite",),
    ("c" * 16,),
)  # fmt: skip


def named(name):
    """The findings with the name of one of several records, as the judge writes them."""
    return tuple(
        dataclasses.replace(row, target=f"{name}: {row.target}" if row.target else name)
        for row in (FINDING, PASSED)
    )


CNN = training(record(), examined=("finite", "grad_exists"), diagnoses=())
EMPTY = training(
    warnings=("no model: the script called no module with gradients enabled",),
)
GAN = training(
    record(
        "netG (Adam)", total=300, root="netG", kind="Generator", optimizer=ADAM,
        parameters=(("main.0.weight", (100, 512, 4, 4), "ConvTranspose2d"),
                    ("main.1.weight", (512,), "BatchNorm2d"),
                    ("main.1.bias", (512,), "BatchNorm2d"),
                    ("aux.weight", (3,), "Linear")),
        statuses={"aux.weight": "none"}, checks=named("netG (Adam)"), unheld=("aux.weight",),
    ),
    record(
        "netD (Adam)", total=300, root="netD", kind="Discriminator", optimizer=ADAM,
        wrappers=("DistributedDataParallel",), checks=named("netD (Adam)")[1:],
        parameters=(("main.0.weight", (64, 3, 4, 4), "Conv2d"),
                    ("main.2.weight", (1, 64, 4, 4), "Conv2d")),
    ),
    others=(OtherModule("inception", "Inception3", 30, 27161264, "eval.py:9"),),
    examined=("parameter_never_changes", "lr_zero"), diagnoses=(
        Diagnosis("parameter_never_changes", "warning", FINDING.message,
                  "use aux in forward, or remove it", "aux.weight", "train.py:12",
                  ("parameter_never_changes",), ("a" * 16,)),
    ),
)  # fmt: skip


def exploding(total=413, batch="hookcli-batch.pt"):
    """A training whose loss becomes NaN in its last step, as the optimizer skips some before."""
    last = total - 1
    sampled = sampled_steps(total)
    steps = tuple(
        step_row(
            step,
            step in sampled,
            **({"loss": "nan", "grad_norm": "nan", "non_finite": 2} if step == last else {}),
            **({"skipped": True, "grad_norm": "inf"} if step in {5, 9} else {}),
            scale=65536.0,
        )
        for step in range(total)
    )
    return training(
        record(total=total, steps=steps, skipped=2, statuses={"fc2.weight": "non_finite",
               "fc2.bias": "non_finite"}, checks=(PASSED,)),
        script=ScriptInfo("train.py", (), False, "stopped", 0),
        tracking=Tracking("grads", "0-2,every:100", None, "nonfinite", False),
        first_non_finite=FirstNonFinite(
            record="Net", step=last, what="loss", phase="forward", layer="fc2",
            operator="aten.log", place="train.py:21",
            inputs=({"shape": [64, 10], "dtype": "float32", "min": -0.5, "max": 3.1, "infs": 2},),
            reason="the logarithm of a negative number is NaN", found_by="replay", batch=batch,
        ),
        diagnoses=(PROBLEM,), examined=("finite",),
    )  # fmt: skip


def long(total=100_000, every=1):
    """A training of many steps."""
    return training(record(total=total, every=every))


def hostile(text):
    """A report in which every name of the user's is this text."""
    name = f"a.{text}"
    wide = record(
        text, kind=text, root=text, wrappers=(text,), parameters=((name, (2, 3), text),),
        optimizer=OptimizerInfo(text, 1, 0, 1, {text: 1.0}), unheld=(name,), compiled=(name,),
        eval_modules=(name,), warnings=(text,), place=f"{text}:3", total=5,
        checks=(dataclasses.replace(FINDING, target=name, message=text, place=text),),
        statuses={name: "none"},
    )  # fmt: skip
    return training(
        wide,
        script=ScriptInfo(text, (text,), False, "exception", 1, f"ValueError: {text}", text),
        others=(OtherModule(text, text, 1, 2, text),),
        first_non_finite=FirstNonFinite(
            record=text, step=1, what="loss", phase="forward", layer=name, operator=text,
            place=text, inputs=({text: text, "dtype": text, "shape": [2]},), reason=text,
            found_by="replay", batch=text, leaves=(Leaf(text, (2,), text),),
        ),
        diagnoses=(Diagnosis(text, "error", text, text, name, text, (text,), (text,)),),
        examined=(), warnings=(text,), checks=(dataclasses.replace(FINDING, message=text),),
    )  # fmt: skip


EVENTS = (
    event(0, "forward", "forward", "conv1", 0, step=0),
    event(1, "backward", "tensor", "conv1:output", 0, step=4),
)
STEPS = tuple(
    step_row(step, sampled=True, loss=loss, grad_norm=loss, skipped=step == 1 or None, scale=2.0)
    for step, loss in enumerate((1.5, "inf", "nan", "-inf", None))
)
SMALL = training(
    record("netG (Adam)", total=5, steps=STEPS, events=EVENTS, digests={0: "a", 4: "b"}),
    record("netD", total=5, optimizer=None, unit="backward", command="trace", events=EVENTS),
    record("teacher", total=5, command="inspect"),
    first_non_finite=exploding(20).first_non_finite,
    others=GAN.others, checks=GAN.records[0].checks, diagnoses=GAN.diagnoses, examined=(),
)  # fmt: skip
