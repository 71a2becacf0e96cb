"""The probes of a request: what looks on at the run, and what is run after it."""

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
    """Performs what the rules of a request need. `doing` is told of each probe as it starts."""

    def __init__(
        self,
        spec: Spec,
        loss: Loss | None = None,
        *,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._loss = loss  # in place of the request's
        self._doing = doing
        self._wanted = spec.probes
        self._values: Values | None = None
        self._found: list[Measurement] = []
        self._batch = Batch()

    def observers(self, batch: Batch) -> tuple[Observer, ...]:
        """What looks on at a run with this batch. A copy is kept: the run may write to it."""
        self._batch = copied(batch)
        if "values" not in self._wanted:
            return ()
        self._values = Values(self._found)
        return (self._values,)

    def conclude(
        self, model: Model, plan: Plan, recording: Recording, *, again: bool = True
    ) -> None:
        """Run what is to be run after a run that came to its end; leave all that was found.

        A model that cannot be run `again` is left alone.
        """
        if self._values is not None:
            self._values.conclude()
        recording.measured += self._found
        if recording.failure is not None or not again:
            return
        backwards = len(recording.gradients) * plan.backward.times
        ran = {RUN: PassCounts(plan.mode, plan.steps, backwards)}
        runs = Rerun(model, self._batch, plan, self._spec.run.device, loss=self._loss)
        measurements = self._performed(runs, ran)
        if runs.wrote_unseen():
            measurements = self._performed(runs, ran)
        recording.measured += [*measurements, *passes_of(ran, self._spec.checks)]

    def _performed(self, again: Rerun, ran: dict[str, PassCounts]) -> list[Measurement]:
        """What the probes that run the model again found, in their order."""
        measurements: list[Measurement] = []
        used_up, rules = is_used_up(self._batch), rules_of(self._spec.checks)
        for probe in self._wanted:
            name, _, argument = probe.partition(":")
            if name in rules:
                self._doing(f"probe for {', '.join(rules[name])}")
            if used_up and name.startswith(("repeat_", "samples")):
                why = {"why": "the batch contains an iterator, which one run exhausts"}
                measurements.append(Measurement(name, "", None, why, None))
            elif name.startswith("repeat_"):
                measure = partial(repeat, again, "eval" if name.endswith("eval") else "train")
                measurements.append(_one(name, measure))
            elif name == "samples":
                dim = int(argument) if argument else None
                measurements.append(_one(name, partial(_samples, again, dim)))
            elif name == "step":
                measurements += _step(again, self._spec.run.optimizer or OptimizerSpec())
            elif name == "grown":
                measurements += grown(again, measurements)
            else:
                continue
            ran[name] = ran.get(name, PassCounts()).and_then(again.passes())
        return measurements


def _samples(again: Rerun, dim: int | None) -> dict[str, Any]:
    """What the samples do, where two runs agree at all."""
    twice = repeat(again, "eval")
    if twice["differ"]:
        return {"why": "two runs with the same seed differ"}
    return samples(again, dim)


def _one(name: str, measure: Callable[[], dict[str, Any]]) -> Measurement:
    """What was measured, or what the model raised."""
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
