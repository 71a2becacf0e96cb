"""What the report says of a step that is a spike, and the files of its batch and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch

from hookcli.models.nested import argument_leaves
from hookcli.operators.finite import described
from hookcli.report.rows.events import number
from hookcli.report.training import SampleNorm, Spike, SpikeSamples
from hookcli.report.values import Number
from hookcli.spec.training import RunJob
from hookcli.torch_private import disable_current_modes
from hookcli.training.bad_step import saved_call
from hookcli.training.non_finite.find import may_run_here, obstacle_of
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.isolated import run_isolated
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.norms import each_norm, gradients_of
from hookcli.training.record.records import Record, digest_of
from hookcli.training.script.own_imports import own_imports
from hookcli.training.spikes.detector import Excess
from hookcli.training.steps import TrainingStep

_LARGEST = 5  # gradients of parameters that are told
_INPUTS = 8


def observed_spike(
    record: Record,
    step: TrainingStep,
    excess: tuple[Literal["loss", "gradient"], Excess],
    calls: Sequence[ForwardCall],
    job: RunJob,
    *,
    is_now: bool,
    saves: bool,
    replays: float,
) -> tuple[Spike, list[str]]:
    """Return the row of the report and its notes; write the batch and the weights if it `saves`.

    `is_now` tells that the step has not updated the weights yet: its gradients are there. It is
    then replayed, for at most `replays` seconds.
    """
    what, over = excess
    gradients: tuple[tuple[str, Number], ...] = ()
    weights, samples, batch, notes = None, None, None, list[str]()
    unclipped = step.unclipped_norm or step.grad_norm
    if is_now:
        by = _clipped_by(step)
        gradients = _largest_gradients(record, by)
        weights = digest_of(record.own)
        if replays:
            ends = job.training.stop_on == "spike"
            samples = _samples(record, calls, patience=replays, ends=ends, by=by)
    if saves and calls:
        number_of_call = 0
        if samples is not None and samples.dominant:
            number_of_call = samples.dominant[0].forward
        batch, notes = saved_call(record.root, calls[number_of_call], job)
        if batch is not None and not is_now:
            notes.append("the saved weights are those of a later step: values were on a GPU")
    spike = Spike(
        record=record.name or record.root.name,
        step=step.step,
        what=what,
        value=number(over.value),
        usual=number(over.usual),
        limit=number(over.limit),
        window=over.window,
        loss=_number(step.loss),
        grad_norm=_number(unclipped),
        gradients=gradients,
        weights=weights,
        inputs=_inputs(calls),
        samples=samples,
        batch=batch,
    )
    return spike, notes


def _number(value: Any) -> Number | None:
    return None if value is None else number(float(value))


def _clipped_by(step: TrainingStep) -> float:
    """Return the factor from the gradients that are there to those before they were clipped."""
    before, now = step.unclipped_norm, step.grad_norm
    return before / now if before and isinstance(now, float) and now else 1.0


def _largest_gradients(record: Record, by: float) -> tuple[tuple[str, Number], ...]:
    """Return the largest norms of gradients, times a factor."""
    names = {id(info.tensor): info.name for info in record.model.parameters()}
    own = [p for p in record.own if p.grad is not None and id(p) in names and not p.is_meta]
    norms = each_norm(gradients_of(own))
    pairs = sorted(zip(own, norms, strict=True), key=lambda pair: -pair[1])
    return tuple((names[id(p)], number(norm * by)) for p, norm in pairs[:_LARGEST])


def _inputs(calls: Sequence[ForwardCall]) -> tuple[dict[str, Any], ...]:
    rows = []
    with torch.no_grad(), disable_current_modes():
        for call in calls[:1]:
            for path, tensor, _ in argument_leaves(call.args, call.kwargs)[:_INPUTS]:
                rows.append(facts_row(described(path, tensor.detach())))
    return tuple(rows)


def _samples(
    record: Record, calls: Sequence[ForwardCall], *, patience: float, ends: bool, by: float
) -> SpikeSamples:
    """Return the gradient of the step by its samples, from a replay in a copy of the process.

    The norms are times the factor `by`. A root on a GPU is replayed in this process if the training
    `ends` now.
    """
    root = record.root
    if len(calls) != root.forwards:
        return SpikeSamples(why="the batches of some of its forwards were not kept")
    if record.is_of_ranks:
        return SpikeSamples(why="the gradient is that of the samples of several ranks")
    why = obstacle_of(root.root, calls)
    if why is None:
        result = run_isolated(lambda: _replayed(record, calls, isolated=True), patience=patience)
    elif calls and ends and may_run_here(root.root):
        result = _replayed(record, calls, isolated=False)
    else:
        return SpikeSamples(why=f"the step was not replayed: {why}")
    if result is None:
        return SpikeSamples(why="the replay of the step failed, or took too long")
    with own_imports():
        from hookcli.training.spikes.sample_gradients import decode

    found = decode(result)
    if "why" in found:
        return SpikeSamples(why=found["why"])
    largest, dominant = (
        tuple(SampleNorm(call, sample, number(norm * by)) for call, sample, norm in found[key])
        for key in ("largest", "dominant")
    )
    without = found["without"]
    if without is not None:
        without = number(without * by)
    return SpikeSamples(found["count"], number(found["median"] * by), largest, dominant, without)


def _replayed(record: Record, calls: Sequence[ForwardCall], *, isolated: bool) -> bytes:
    with own_imports():
        from hookcli.training.non_finite.replay import unshare
        from hookcli.training.spikes.sample_gradients import by_sample, encode

    if isolated:
        unshare(record.root.root)
    return encode(by_sample(record.root.root, record.own, calls))
