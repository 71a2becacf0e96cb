"""The probes of a request: watchers of the run, and further runs after it.

The rows of `hookcli.catalogue.probes` name the functions. That of a probe which observes is called
with its requests and the Spec, and returns watchers. That of a probe which runs the model
again is called with its requests and a RerunContext, and returns measurements; what it raises
becomes the measurement. That of a probe which reads the request is called with the Spec, and
returns measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.catalogue.probes import PROBES, Probe, Way
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.probes.context import LostGradients, RerunContext, single
from hookcli.engine.probes.dropped import drop_on_error
from hookcli.engine.probes.gradients.changed_in_place import is_changed_in_place, with_cause
from hookcli.engine.probes.pass_counts import RUN, PassCounts, passes_of, rules_of
from hookcli.engine.probes.rerun import Rerun, is_used_up
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.memory import available
from hookcli.models.batch import Batch
from hookcli.models.failures import failure_of
from hookcli.models.model import Model
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.request import Spec
from hookcli.text import first_line


def function_of(probe: Probe) -> Callable[..., Any]:
    """Return the function of a probe; its file is imported now."""
    file, _, name = probe.function.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"hookcli.engine.probes.{file}"), name)
    return found


def grouped(requests: tuple[ProbeRequest, ...], way: Way) -> Iterator[list[ProbeRequest]]:
    """Yield the requests of each function of this way, in the order of the table."""
    groups: dict[str, list[ProbeRequest]] = {}
    for name, row in PROBES.items():
        if row.way is way:
            named = (request for request in requests if request.name == name)
            groups.setdefault(row.function, []).extend(named)
    return (group for group in groups.values() if group)


def watchers_for(
    spec: Spec, batch: Batch, loss: Loss | None, doing: Callable[[str], None]
) -> Iterator[Watcher]:
    """Yield the watchers of a run; the last one runs the further runs, with a kept batch.

    `loss` replaces the loss of the request. `doing` is called as each further run starts.
    """
    for requests in grouped(spec.probes, Way.OBSERVES):
        probe = PROBES[requests[0].name]
        names = [row.name for row in PROBES.values() if row.function == probe.function]
        for watcher in function_of(probe)(requests, spec):
            yield drop_on_error(watcher, names)
    trains = any(PROBES[request.name].trains for request in spec.probes)
    steps = spec.run.optimizer is not None or spec.run.steps > 1
    start = StartState() if trains and steps else None
    if start is not None:
        yield start
    yield FurtherRuns(spec, batch, loss, start, doing)


class StartState(Watcher):
    """The values of a model before the run, which its optimizer changes, for probes that need them.

    Copies parameters and buffers when the run begins, if there is memory for it.
    """

    def __init__(self) -> None:
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    def begin(self, model: Model) -> None:
        """Copy the values."""
        infos = [i for i in (*model.parameters(), *model.buffers()) if not is_lazy(i.tensor)]
        free = available()
        size = sum(info.tensor.numel() * info.tensor.element_size() for info in infos)
        if free is None or size <= free // 2:
            self._copies = [(info.tensor, info.tensor.detach().clone()) for info in infos]

    def restore(self) -> None:
        """Give all tensors the values that they had before the run, and free the copies."""
        for tensor, before in self._copies:
            if tensor.shape == before.shape:
                tensor.data.copy_(before)
        self._copies = []


class FurtherRuns(Watcher):
    """Runs the model again after the run, for the probes that need it."""

    def __init__(
        self,
        spec: Spec,
        batch: Batch,
        loss: Loss | None,
        start: StartState | None,
        doing: Callable[[str], None],
    ) -> None:
        self._spec, self._loss, self._start, self._doing = spec, loss, start, doing
        self._batch = batch

    def conclude(self, after: AfterRun) -> None:
        """Add all measurements to the recording; run the further runs if the run succeeded."""
        recording, plan = after.recording, after.plan
        for requests in grouped(self._spec.probes, Way.READS):
            recording.measured += function_of(PROBES[requests[0].name])(self._spec)
        failed = recording.failure is not None
        if not after.again:
            return
        if recording.failure is not None and is_changed_in_place(recording.failure):
            recording.failure = with_cause(recording.failure, self._rerun(after))
        if failed and not _found_no_gradient(recording):
            return
        lost = LostGradients.of(after.model, plan, recording)
        seen = {row.probe for row in recording.measured if not _is_header(row)}
        todo = self._reruns(lost, seen, failed=failed)
        judged = self._spec.command == "check" and not failed
        if not (todo or judged):
            return
        if self._start is not None:
            self._start.restore()
        runs = self._rerun(after)
        backwards = len(recording.gradients) * plan.backward.times
        ran = {RUN: PassCounts(plan.mode, plan.steps, backwards)}
        found = self._run(todo, runs, lost, ran)
        if not failed and runs.wrote_unseen():
            found = self._run(todo, runs, lost, ran)
        recording.measured += found
        if judged:
            recording.measured += passes_of(ran, self._spec.checks)

    def _rerun(self, after: AfterRun) -> Rerun:
        return Rerun(after.model, self._batch, after.plan, self._spec.run.device, loss=self._loss)

    def _reruns(
        self, lost: LostGradients, seen: set[str], *, failed: bool
    ) -> list[list[ProbeRequest]]:
        """Return the requests of each function that runs the model again, in their order."""
        wanted = tuple(
            request
            for request in self._spec.probes
            if (lost or not PROBES[request.name].for_lost)
            and (PROBES[request.name].after in {"", *seen})
            and (PROBES[request.name].of_failure or not failed)
        )
        groups = grouped(wanted, Way.RERUNS)
        return sorted(groups, key=lambda group: wanted.index(group[0]))

    def _run(
        self,
        todo: list[list[ProbeRequest]],
        again: Rerun,
        lost: LostGradients,
        ran: dict[str, PassCounts],
    ) -> list[Measurement]:
        """Run the probes that run the model again, and return their measurements in order."""
        measurements: list[Measurement] = []
        used_up, rules = is_used_up(self._batch), rules_of(self._spec.checks)
        context = RerunContext(self._spec, again, lost, measurements)
        for requests in todo:
            probe = PROBES[requests[0].name]
            if probe.name in rules:
                self._doing(f"probe for {', '.join(rules[probe.name])}")
            if used_up and probe.repeats_batch:
                why = "the batch contains an iterator, which one run exhausts"
                measurements += single(probe.name, {"why": why})
            else:
                measurements += _measured(probe, requests, context)
            ran[probe.name] = ran.get(probe.name, PassCounts()).and_then(again.passes())
        return measurements


def _is_header(row: Measurement) -> bool:
    """Return whether a row tells only that a probe looked."""
    return isinstance(row.value, dict) and row.value.keys() == {"count"}


def _found_no_gradient(recording: Recording) -> bool:
    """Whether a run ended before backward because nothing in the output requires grad."""
    failure = recording.failure
    return failure is not None and failure.phase == "loss" and failure.type == "ModelError"


def _measured(
    probe: Probe, requests: list[ProbeRequest], context: RerunContext
) -> list[Measurement]:
    """Return the measurements, or the error as that of each probe of the function."""
    try:
        rows: list[Measurement] = function_of(probe)(requests, context)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        failure = failure_of(error, "forward")
        value = {
            "error": f"{failure.type}: {first_line(failure.message)}",
            "place": failure.place,
        }
        names = [row.name for row in PROBES.values() if row.function == probe.function]
        return [Measurement(name, "", None, value, None) for name in names]
    return rows
