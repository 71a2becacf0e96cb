"""The probes of a request: observers of the run, and further runs after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hookcli.models.batch import Batch
from hookcli.models.failures import failure_of
from hookcli.models.model import Model
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.run.loss import Loss
from hookcli.run.observe.observer import Observer
from hookcli.run.probes.batch_growth import grown
from hookcli.run.probes.batch_independence import samples
from hookcli.run.probes.determinism import repeat
from hookcli.run.probes.non_finite import Values
from hookcli.run.probes.optimizer_step import step
from hookcli.run.probes.pass_counts import RUN, PassCounts, passes_of, rules_of
from hookcli.run.probes.rerun import Rerun, copied, is_used_up
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.plan import Plan
from hookcli.spec.request import Spec
from hookcli.text import first_line


class Probes:
    """Runs the probes that the rules of a request need. `doing` is called as each probe starts."""

    def __init__(
        self,
        spec: Spec,
        loss: Loss | None = None,
        *,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._loss = loss  # replaces the request's
        self._doing = doing
        self._probes = spec.probes
        self._values: Values | None = None
        self._measurements: list[Measurement] = []
        self._batch = Batch()

    def observers(self, batch: Batch) -> tuple[Observer, ...]:
        """Return the observers of a run with this batch.

        A copy of the batch is kept for further runs, since the run may write to it.
        """
        self._batch = copied(batch)
        if "values" not in self._probes:
            return ()
        self._values = Values(self._measurements)
        return (self._values,)

    def conclude(
        self, model: Model, plan: Plan, recording: Recording, *, again: bool = True
    ) -> None:
        """Add all measurements to the recording; run the further runs if the run succeeded.

        There are no further runs if the model cannot be run `again`.
        """
        if self._values is not None:
            self._values.conclude()
        recording.measured += self._measurements
        if recording.failure is not None or not again:
            return
        backwards = len(recording.gradients) * plan.backward.times
        ran = {RUN: PassCounts(plan.mode, plan.steps, backwards)}
        runs = Rerun(model, self._batch, plan, self._spec.run.device, loss=self._loss)
        measurements = self._run(runs, ran)
        if runs.wrote_unseen():
            measurements = self._run(runs, ran)
        recording.measured += [*measurements, *passes_of(ran, self._spec.checks)]

    def _run(self, again: Rerun, ran: dict[str, PassCounts]) -> list[Measurement]:
        """Run the probes that run the model again, and return their measurements in order."""
        measurements: list[Measurement] = []
        used_up, rules = is_used_up(self._batch), rules_of(self._spec.checks)
        for probe in self._probes:
            name, _, argument = probe.partition(":")
            if name in rules:
                self._doing(f"probe for {', '.join(rules[name])}")
            if used_up and name.startswith(("repeat_", "samples")):
                why = {"why": "the batch contains an iterator, which one run exhausts"}
                measurements.append(Measurement(name, "", None, why, None))
            elif name.startswith("repeat_"):
                measure = partial(repeat, again, "eval" if name.endswith("eval") else "train")
                measurements.append(_measured(name, measure))
            elif name == "samples":
                dim = int(argument) if argument else None
                measurements.append(_measured(name, partial(_samples, again, dim)))
            elif name == "step":
                measurements += _step(again, self._spec.run.optimizer or OptimizerSpec())
            elif name == "grown":
                measurements += grown(again, measurements)
            else:
                continue
            ran[name] = ran.get(name, PassCounts()).and_then(again.passes())
        return measurements


def _samples(again: Rerun, dim: int | None) -> dict[str, Any]:
    """Measure whether samples are independent, if two runs with the same seed agree."""
    twice = repeat(again, "eval")
    if twice["differ"]:
        return {"why": "two runs with the same seed differ"}
    return samples(again, dim)


def _measured(name: str, measure: Callable[[], dict[str, Any]]) -> Measurement:
    """Return the measurement, with the error as its value if the model raised."""
    try:
        value = measure()
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        value = _failed(error)
    return Measurement(name, "", None, value, None)


def _step(again: Rerun, optimizer: OptimizerSpec) -> list[Measurement]:
    try:
        return step(again, optimizer)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        return [Measurement("step", "", None, _failed(error), None)]


def _failed(error: Exception) -> dict[str, Any]:
    failure = failure_of(error, "forward")
    message = f"{failure.type}: {first_line(failure.message)}"
    return {"error": message, "place": failure.place}
