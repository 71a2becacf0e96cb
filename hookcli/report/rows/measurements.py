"""What stands beside the layers: events, measurements, and findings of hooks."""

from __future__ import annotations

import hashlib

from hookcli.report.events import EventRow, Streamed
from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.recording import HookFinding, Recording
from hookcli.report.rows.events import event_row


def events(recording: Recording) -> tuple[EventRow, ...] | Streamed:
    """The firings in their order, or where they were written."""
    if recording.streamed is not None:
        return Streamed(*recording.streamed)
    return tuple(event_row(note) for note in recording.events)


def measurements(recording: Recording) -> tuple[Measurement, ...]:
    """What was measured beside the rows."""
    digests = (
        Measurement("digest", name, None, value, None) for name, value in recording.digests.items()
    )
    return (*_training(recording), *_backward(recording), *digests, *recording.measured)


_STATES = {"sgd": 0, "sgd_momentum": 1, "adam": 2}  # tensors that each keeps beside a parameter


def _training(recording: Recording) -> tuple[Measurement, ...]:
    """What backward would need, and an estimate of a whole training step for some optimizers.

    Parameters, buffers, what is saved for backward, gradients, and the optimizer's states, as if
    all were there at once. Left out: gradients of activations in passing, operators' workspaces.
    """
    training = recording.training
    if training is None:
        return ()
    fixed = sum(p.nbytes or 0 for p in recording.parameters)
    fixed += sum(b.nbytes for b in recording.buffers)
    rows = [Measurement("saved_for_backward", "", None, training.saved_bytes, "bytes")]
    for name, states in _STATES.items():
        total = fixed + training.saved_bytes + training.gradient_bytes * (1 + states)
        rows.append(Measurement("training_memory_estimate", name, None, total, "bytes"))
    return tuple(rows)


def _backward(recording: Recording) -> tuple[Measurement, ...]:
    """What the backward of each call cost, and of all, where that was counted.

    That of the loss belongs to no call, and is left out.
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
        flops = None if cost.unknown and not cost.flops else cost.flops
        name = f"<{call.type}>" if call.name is None else call.name
        rows.append(Measurement("backward_flops", name, call.index, flops, "flops"))
    costs = [cost for order, cost in recording.backward.items() if order is not None]
    known = sum(cost.flops for cost in costs)
    unknown = any(cost.unknown for cost in costs)
    total = None if unknown and not known else known
    return (Measurement("backward_flops_total", "", None, total, "flops"), *rows)


def checks(recording: Recording) -> tuple[CheckRow, ...]:
    """Hooks that were misused, or did nothing."""
    return tuple(_check(finding) for finding in recording.findings)


def _check(finding: HookFinding) -> CheckRow:
    """The fingerprint leaves lines out, so that an edit above does not make it another."""
    key = f"{finding.rule}|{finding.target}|{finding.message}"
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
