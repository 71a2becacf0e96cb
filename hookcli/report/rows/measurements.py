"""Make the events, measurements and findings of hooks of a report."""

from __future__ import annotations

import hashlib

from hookcli.report.events import EventRow, Streamed
from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.recording import HookFinding, Recording
from hookcli.report.rows.events import event_row
from hookcli.report.values import known_size


def events(recording: Recording) -> tuple[EventRow, ...] | Streamed:
    """Return the events in order, or the file that they were written to."""
    if recording.streamed is not None:
        return Streamed(*recording.streamed)
    return tuple(event_row(note) for note in recording.events)


def measurements(recording: Recording) -> tuple[Measurement, ...]:
    """Return the measurements."""
    digests = (
        Measurement("digest", name, None, value, None) for name, value in recording.digests.items()
    )
    return (*_training(recording), *_backward(recording), *digests, *recording.measured)


_STATES = {"sgd": 0, "sgd_momentum": 1, "adam": 2}  # state tensors per parameter of each optimizer


def _training(recording: Recording) -> tuple[Measurement, ...]:
    """Return the memory saved for backward, and estimates of a training step per optimizer.

    An estimate is the sum of parameters, buffers, tensors saved for backward, gradients, and the
    states of the optimizer. Gradients of activations and workspaces of operators are omitted.
    """
    training = recording.training
    if training is None:
        return ()
    fixed = sum(p.nbytes or 0 for p in recording.parameters)
    fixed += sum(b.nbytes for b in recording.buffers)
    rows = [Measurement("saved_for_backward", "", None, training.saved_bytes, "bytes")]
    if recording.memory is not None:
        return tuple(rows)  # the report's `memory` has what was measured instead of estimates
    for name, states in _STATES.items():
        total = fixed + training.saved_bytes + training.gradient_bytes * (1 + states)
        rows.append(Measurement("training_memory_estimate", name, None, total, "bytes"))
    return tuple(rows)


def _backward(recording: Recording) -> tuple[Measurement, ...]:
    """Return the cost of the backward of each call and of all, if it was counted.

    The loss does not belong to a call, and is omitted.
    """
    if not recording.backward:
        return ()
    calls = {call.order: call for call in recording.calls}
    rows = []
    for order, cost in sorted(
        recording.backward.items(), key=lambda item: (item[0] is None, item[0])
    ):
        call = None if order is None else calls.get(order)
        if call is None or not (cost.flops or cost.unknown):
            continue
        flops = None if cost.unknown and not cost.flops else known_size(cost.flops)
        name = f"<{call.type}>" if call.name is None else call.name
        rows.append(Measurement("backward_flops", name, call.index, flops, "flops"))
    costs = [cost for order, cost in recording.backward.items() if order is not None]
    known = sum(cost.flops for cost in costs)
    unknown = any(cost.unknown for cost in costs)
    total = None if unknown and not known else known_size(known)
    return (Measurement("backward_flops_total", "", None, total, "flops"), *rows)


def checks(recording: Recording) -> tuple[CheckRow, ...]:
    """Return the findings about hooks that were misused or did not fire as expected."""
    return tuple(_check(finding) for finding in recording.findings)


def _check(finding: HookFinding) -> CheckRow:
    """Return a row whose fingerprint depends neither on line numbers nor on wording."""
    key = f"{finding.rule}|{finding.target}|{finding.problem}"
    return CheckRow(
        rule=finding.rule,
        target=finding.target,
        status="fail",
        severity=finding.severity,
        value=None,
        limit=None,
        message=finding.message,
        place=finding.place,
        fingerprint=hashlib.sha256(key.encode()).hexdigest()[:16],
    )
