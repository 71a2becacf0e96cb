"""A record of a training as the rules of a single run read it: over all of its sampled steps.

What holds at one step only is no problem of a training. A zero initialization gives zero gradients
at step 0 and others later; a converged model has tiny gradients; GradScaler's first steps overflow.
"""

from __future__ import annotations

import dataclasses
from statistics import median
from typing import Any, Literal

from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.rules.training.series import first_bad, real, series, skipped_steps


def reading(record: Report, run: TrainingReport) -> Report:
    """Return the record with parameters, layers and norms that stand for all sampled steps.

    A parameter is reached if it got a gradient at any sampled step, or changed between two of them,
    as an expert does that is used now and then, or got one in another phase of the script; its
    gradient is that of the step with the median norm. Layers are those of the first call of the
    root. The norm over all gradients is the largest.
    """
    training = record.training
    if training is None:
        return record
    training = dataclasses.replace(training, together=_together(training, run))
    norms = [value for _, value in series(training, "grad_norm")]
    between, phases = _reached_between(training), _reached_in_phases(record, training, run)
    totals = dataclasses.replace(
        record.totals, grad_norm=max(norms) if norms else record.totals.grad_norm
    )
    return dataclasses.replace(
        record,
        training=training,
        totals=totals,
        parameters=tuple(_parameter(row, training, between, phases) for row in record.parameters),
        layers=_first_call(record.layers),
        error=None,  # a script that ended early has steps to judge
    )


def _together(training: TrainingInfo, run: TrainingReport) -> tuple[str, ...]:
    """Return the records trained in turn, and the models of the same type that are not trained.

    The latter are target networks and teachers, which move the target of the loss.
    """
    together = training.together
    if together is None:
        names = (other.training.record for other in run.records if other.training is not None)
        together = tuple(name for name in names if name != training.record)
    copies = (other.name for other in run.others if other.type == training.root_type)
    return tuple(dict.fromkeys((*together, *copies)))


_WORST_FIRST: tuple[Literal["non_finite", "ok", "zero", "none", "frozen"], ...] = (
    "non_finite", "ok", "zero", "none", "frozen",
)  # fmt: skip


def _reached_between(training: TrainingInfo) -> set[str]:
    """Return parameters that changed, as far as that tells of a gradient between sampled steps.

    Optimizers change no parameter whose gradient is None; with weight decay they change those
    whose gradient is zero.
    """
    optimizer = training.optimizer
    decays = optimizer is not None and optimizer.largest_weight_decay
    if optimizer is None or decays or optimizer.options.get("weight_decay"):
        return set()
    return {row.name for row in training.updates if row.changed}


def _reached_in_phases(record: Report, training: TrainingInfo, run: TrainingReport) -> set[str]:
    """Return parameters that got a gradient in another training of a model of the same class.

    Both must be phases of one script, one after the other, as a pretraining whose mask token the
    training after it does not use. Names that begin with a number are those of nn.Sequential, which
    tells nothing of what a model is.
    """
    shapes = {row.name: row.shape for row in record.parameters if not row.name[:1].isdigit()}
    return {
        row.name
        for other in run.records
        if other.training is not None
        and other.training.root_type == training.root_type
        and other.training.record not in {training.record, *(training.together or ())}
        for row in other.parameters
        if row.status == "ok" and shapes.get(row.name) == row.shape
    }


def _parameter(
    row: ParameterRow, training: TrainingInfo, between: set[str], phases: set[str]
) -> ParameterRow:
    if not row.steps:
        return row
    aside, bad = skipped_steps(training), first_bad(training)
    known = [entry for entry in row.numbered_steps() if entry.get("status")]
    states = {
        "ok" if entry["status"] == "non_finite" and entry["step"] in aside else entry["status"]
        for entry in known
        # after the first value that is not finite, all are
        if bad is None or entry["step"] <= bad.step or entry["status"] != "non_finite"
    }
    status = next((name for name in _WORST_FIRST if name in states), row.status)
    if status in {"none", "zero"} and row.name in between:
        status = "ok"
    if status == "none" and row.name in phases:
        status = "ok"
    return dataclasses.replace(row, status=status, grad=_median(known) or row.grad)


def _median(entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the gradient with the median norm, of those that are finite and not zero."""
    grads = [entry["grad"] for entry in entries if entry["status"] == "ok" and entry.get("grad")]
    norms: list[tuple[float, dict[str, Any]]] = [
        (norm, grad) for grad in grads if (norm := real(grad.get("norm"))) is not None
    ]
    if not norms:
        return None
    usual = median(norm for norm, _ in norms)
    return min(norms, key=lambda pair: abs(pair[0] - usual))[1]


def _first_call(layers: tuple[LayerRow, ...]) -> tuple[LayerRow, ...]:
    """Return the rows of the first call of the root; the others are micro-steps."""
    roots = [i for i, row in enumerate(layers) if row.parent is None and row.name == ""]
    return layers if len(roots) < 2 else layers[: roots[1]]  # the second call
