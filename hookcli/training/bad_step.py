"""What the report says of the first step of a training that is not finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch

from hookcli.models import places
from hookcli.operators.finite import counts_of
from hookcli.report.report import Report
from hookcli.report.training import FirstNonFinite
from hookcli.spec.training import RunJob
from hookcli.text import join_names
from hookcli.training.backward import BackwardPass
from hookcli.training.non_finite.bad_layer import BadLayer, with_bad_layer
from hookcli.training.non_finite.find import find
from hookcli.training.non_finite.forward_call import ForwardCall, NonFiniteValue
from hookcli.training.non_finite.save_step import save_step
from hookcli.training.norms import local
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.steps import TrainingStep


def first_non_finite(
    record: Record,
    step: TrainingStep,
    passes: Sequence[BackwardPass],
    job: RunJob,
    bad: BadLayer | None = None,
) -> tuple[FirstNonFinite, list[str]]:
    """Return the row of the report and its notes; save the batch if the script ends here.

    It is called before the optimizer's step, while the weights are those of the forward. `bad` is
    the layer that compiled code names.
    """
    ends = job.training.stop_on is not None
    loss = None if step.loss is None else float(step.loss)
    what: Literal["loss", "gradient"] = "gradient"
    if loss is not None and not math.isfinite(loss):
        what = "loss"
    root, calls = record.root, tuple(record.root.recent)
    statuses = {info.name: _status(info.tensor.grad) for info in root.model.parameters()}
    found = find(
        root.root,
        calls,
        what=what,
        loss=loss,
        gradients=statuses,
        of_loss=next((one.graph for one in passes if one.graph is not None), None),
        may_change=ends,
    )
    found = with_bad_layer(found, bad)
    batch, notes = None, list(found.notes)
    if ends and calls:
        batch, saved = saved_call(root, calls[found.call], job, of_loss=found.is_of_loss)
        notes += saved
    return found.as_first(record.name, step.step, what, batch), notes


def first_in_rows(records: Sequence[Report]) -> FirstNonFinite | None:
    """Return the first step that is not finite, if its values were read when it had ended.

    Values on a GPU are, since reading them at once would make training wait.
    """
    for report in records:
        info = report.training
        for row in () if info is None else info.steps:
            scaled = row.scale is not None and row.loss != "nan"  # the product may overflow
            if info is None or row.skipped or scaled:
                continue
            if isinstance(row.loss, str):
                return NonFiniteValue().as_first(info.record, row.step, "loss", None)
            if isinstance(row.grad_norm, str):
                return NonFiniteValue().as_first(info.record, row.step, "gradient", None)
    return None


def _status(gradient: torch.Tensor | None) -> str:
    if gradient is None:
        return "none"
    return "ok" if counts_of(local(gradient)) is None else "non_finite"


def saved_call(
    root: RootWatch, call: ForwardCall, job: RunJob, *, of_loss: bool = False
) -> tuple[str | None, list[str]]:
    """Write the batch and the weights; return the path as typed by a user, and notes.

    What is made by the loss of the script, as `of_loss` tells, no command repeats.
    """
    if job.batch is None:
        return None, []
    try:
        saved = save_step(root.root, call, batch=job.batch, script=job.script)
    except OSError as error:
        return None, [f"the batch of the step was not saved: {error.strerror or error}"]
    if saved.batch is None:
        return None, [f"the batch of the step was not saved: {saved.why}"]
    if of_loss:
        return saved.batch, [
            f"{saved.batch} has the batch of the step, and {saved.weights} the weights before it: "
            "the script computes the loss"
        ]
    if saved.command is None:
        return saved.batch, [
            f"run `hookcli grads` with a function that returns the model, `-i {saved.batch}` and "
            f"`--weights {saved.weights}` to repeat the step"
        ]
    notes = [f"run `{saved.command}` to repeat the step"]
    if saved.runs_script:
        notes.append(
            f"the command imports {places.show(job.script.name)}, which trains again: put the "
            'training below `if __name__ == "__main__":`'
        )
    if saved.missing:
        notes.append(
            f"set the arguments of the constructor in that command: {join_names(saved.missing)}"
        )
    return saved.batch, notes
