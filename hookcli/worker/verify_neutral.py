"""`--verify-neutral`: compare the run with two runs without hooks, each in a separate process.

Values that differ between the two runs without hooks are not deterministic in the model itself,
and are not judged.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable

from hookcli.catalogue.actions import CATALOGUE
from hookcli.report.events import EventRow
from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.report import Report
from hookcli.spec.plan import plan
from hookcli.spec.request import Command, Spec
from hookcli.text import join_names, pluralize
from hookcli.worker.progress.screen import labelled

PROBE = "digest"
_SHOWN = 3


def without_hooks(spec: Spec) -> Spec:
    """Return the same request without hooks."""
    settings = plan(spec)
    run = dataclasses.replace(
        spec.run, mode=settings.mode, optimizer=settings.optimizer, tensors="real"
    )
    command: Command = "grads" if settings.goes_backward else "inspect"
    return dataclasses.replace(
        spec, command=command, run=run, hooks=(), stream=None, timings=False, libraries=()
    )


def verified(spec: Spec, report: Report, again: Callable[[Spec], Report]) -> Report:
    """Return the report with a verdict on neutrality; `again` carries out a request."""
    first, second = (_without_hooks(spec, again, number) for number in (1, 2))
    hooked = _digests(report.measurements)
    unsteady = {name for name in first if first[name] != second.get(name)}
    names = [name for name in first if name not in unsteady and hooked.get(name) != first[name]]
    row = _verdict(spec, report, names, len(first) - len(unsteady), len(unsteady))
    measurements = tuple(m for m in report.measurements if m.probe != PROBE)
    return dataclasses.replace(report, measurements=measurements, checks=(*report.checks, row))


def _without_hooks(spec: Spec, again: Callable[[Spec], Report], number: int) -> dict[str, str]:
    with labelled(f"run {number} of 2 without hooks"):
        return _digests(again(without_hooks(spec)).measurements)


def _digests(measurements: tuple[Measurement, ...]) -> dict[str, str]:
    return {m.target: m.value for m in measurements if m.probe == PROBE}


def _changes(spec: Spec, report: Report) -> bool:
    """Whether a hook changes values on purpose."""
    declared = any(
        CATALOGUE[action.name].changes and not CATALOGUE[action.name].may_look
        for hook in spec.hooks
        for action in hook.actions
    )
    seen = report.events if isinstance(report.events, tuple) else ()
    return declared or any(_changed(event) for event in seen)


def _changed(event: EventRow) -> bool:
    return event.changed not in {None, 0} or bool(event.changes)


def _verdict(spec: Spec, report: Report, names: list[str], judged: int, unsteady: int) -> CheckRow:
    status = "pass"
    aside = (
        f" ({unsteady} differ between runs without hooks, and are not judged)" if unsteady else ""
    )
    message = (
        "outputs, gradients, parameters and buffers are bitwise equal to those of runs without "
        f"hooks{aside}"
    )
    if names:
        listed, verb = join_names(names, _SHOWN), pluralize(len(names), "differs", "differ")
        message = f"not neutral: {listed} {verb} from the run without hooks{aside}"
        status = "skip" if _changes(spec, report) else "fail"
        if status == "skip":
            message = f"hooks change values on purpose: {message.removeprefix('not neutral: ')}"
    elif report.error is not None or not judged:
        status, message = "skip", "the run ended before it could be compared"
    return CheckRow(
        rule="neutral",
        target="",
        status=status,  # type: ignore[arg-type]  # one of the three above
        severity="error",
        value=len(names),
        limit=0,
        message=message,
        place=spec.hooks[0].place if spec.hooks else None,
        fingerprint=hashlib.sha256(b"neutral").hexdigest()[:16],
    )
