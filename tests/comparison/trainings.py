"""Makes reports of trainings whose figures are given."""

from __future__ import annotations

import math
from dataclasses import replace

from hookcli.report.report import (
    SCHEMA,
    Environment,
    LayerRow,
    ModelInfo,
    ParameterRow,
    Report,
    RunInfo,
    Totals,
)
from hookcli.report.steps import OptimizerInfo, StepRow, TrainingInfo
from hookcli.report.training import (
    TRAINING_SCHEMA,
    ScriptInfo,
    Tracking,
    TrainingReport,
)

ENVIRONMENT = Environment("0", "2.9", "3.11", "test", 1.0)


def record(
    losses,
    gradients,
    *,
    name="Net (SGD)",
    root="Net",
    optimizer="SGD",
    sampled=None,
    lr=0.1,
    options=None,
    thin=(),
):
    """Return a record. `gradients` are norms by parameter name, each a list by step or one value.

    A loss or norm of None is not known; a gradient of "none" is missing. Layers are called in the
    order in which parameters are given. Steps in `thin` are omitted.
    """
    steps = range(len(losses))
    sampled = tuple(steps) if sampled is None else sampled
    rates = lr if isinstance(lr, list) else [lr] * len(losses)
    norms = {
        key: given if isinstance(given, list) else [given] * len(losses)
        for key, given in gradients.items()
    }
    rows = []
    for i in steps:
        known = [norm[i] for norm in norms.values() if not isinstance(norm[i], str)]
        total = math.hypot(*known)
        rows.append(StepRow(i, 1, 1, losses[i], total, rates[i], sampled=i in sampled))
    layers = [_layer(0, "", root)]
    layers += [_layer(i, key.rpartition(".")[0], "Linear") for i, key in enumerate(norms, 1)]
    return Report(
        schema=SCHEMA,
        command="grads",
        status="complete",
        environment=ENVIRONMENT,
        model=ModelInfo("train.py", "python", root),
        run=RunInfo("real", None, "train", "cpu", 0),
        inputs=None,
        totals=Totals(1, 1, None),
        layers=tuple(layers),
        parameters=tuple(_parameter(key, norms[key], sampled) for key in norms),
        training=TrainingInfo(
            record=name,
            root=root,
            root_type=root,
            wrappers=(),
            optimizer=OptimizerInfo(optimizer, len(norms), 0, 1, options or {}),
            unit="optimizer",
            total=len(losses),
            skipped=0,
            every=1,
            sampled=sampled,
            steps=tuple(row for row in rows if row.step not in thin),
            updates=(),
            calls=len(losses),
            evaluations=0,
            graphless=0,
            never_zeroed=None,
        ),
    )


def _parameter(name, norms, sampled):
    notes = [
        {"step": i, "grad": None, "status": norms[i]}
        if isinstance(norms[i], str) and norms[i] in {"none", "frozen"}
        else {"step": i, "grad": {"norm": norms[i]}, "status": "ok"}
        for i in sampled
    ]
    return ParameterRow(name, "Linear", (4, 4), "float32", 16, True, steps=tuple(notes))


def _layer(order, name, type_):
    return LayerRow(
        order=order,
        name=name,
        registered=True,
        aliases=(),
        type=type_,
        original_name=None,
        call=0,
        parent=0 if order else None,
        depth=min(order, 1),
        training=True,
        place=f"train.py:{10 + order}",
        inputs=(),
        outputs=(),
        own_parameters=None,
        parameters=None,
        trainable_parameters=None,
    )


def training(*records, arguments=(), ended="completed"):
    """Return the report of a run."""
    return TrainingReport(
        schema=TRAINING_SCHEMA,
        status="complete",
        environment=ENVIRONMENT,
        script=ScriptInfo("train.py", tuple(arguments), False, ended, 0),
        tracking=Tracking("grads", "all", None, None, eager=False),
        records=records,
    )


def with_rows(report, **changes):
    """Return a record whose steps have other figures: `{step: value}` by field."""
    info = report.training
    rows = [
        replace(row, **{key: by[row.step] for key, by in changes.items() if row.step in by})
        for row in info.steps
    ]
    return replace(report, training=replace(info, steps=tuple(rows)))
