"""The probes of a request: observers of the run, and further runs after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.models.batch import Batch
from hookcli.models.failures import failure_of
from hookcli.models.model import Model
from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_rows import CUT, REASON
from hookcli.report.recording import Recording
from hookcli.rules.activations.measured import EXACT, PROBE
from hookcli.rules.training.gradient_clipping import PROBE as CLIPPING
from hookcli.run.losses.criterion import Loss
from hookcli.run.observe.observer import Observer
from hookcli.run.probes.activations.observer import ActivationObserver
from hookcli.run.probes.activations.ranges import RangeObserver, SpreadObserver
from hookcli.run.probes.batch_growth import grown
from hookcli.run.probes.batch_independence import samples
from hookcli.run.probes.cuts import LostGradients, cuts
from hookcli.run.probes.determinism import repeat
from hookcli.run.probes.non_finite import Values
from hookcli.run.probes.optimizer_step import step
from hookcli.run.probes.pass_counts import RUN, PassCounts, passes_of, rules_of
from hookcli.run.probes.rerun import Rerun, copied, is_used_up
from hookcli.run.probes.training.further import FROM_THE_START, FURTHER, options_of
from hookcli.run.probes.training.loss_graph import PROBABILITIES, TERMS, LossGraph
from hookcli.run.probes.training.shared_memory import PROBE as SHARED_MEMORY, SharedMemory
from hookcli.run.probes.training.start_state import StartState
from hookcli.run.probes.training.unregistered import (
    PROBE as UNREGISTERED,
    UnregisteredParameters,
)
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.plan import Plan
from hookcli.spec.request import Spec
from hookcli.text import first_line

# The probes that run the model twice with one batch, without a reason of its own.
_NOT_TWICE = {"repeat_eval", "repeat_train", "samples", *FURTHER}


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
        self._watching: list[ActivationObserver | RangeObserver | SpreadObserver] = []
        self._measurements: list[Measurement] = []
        self._observed: list[list[Measurement]] = []
        self._start: StartState | None = None
        self._batch = Batch()
        self._lost = LostGradients()

    def observers(self, batch: Batch) -> tuple[Observer, ...]:
        """Return the observers of a run with this batch.

        A copy of the batch is kept for further runs, since the run may write to it.
        """
        self._batch = copied(batch)
        if "values" in self._probes:
            self._values = Values(self._measurements)
        self._watching = list(_watching(self._probes, self._measurements))
        return (
            *(() if self._values is None else (self._values,)),
            *self._watching,
            *self._about_training(),
        )

    def _names(self) -> set[str]:
        """Return the names of the probes, without their options."""
        return {probe.partition(":")[0] for probe in self._probes}

    def _about_training(self) -> Iterator[Observer]:
        """Yield the observers for rules about training; each writes into a list of its own."""
        self._observed, self._start = [], None
        # Reading a saved tensor calls the hook that unpacks it, which would be seen.
        unpacks = any(KINDS[hook.kind].pair for hook in self._spec.hooks)
        if {TERMS, PROBABILITIES} & set(self._probes) and not unpacks:
            self._observed.append([])
            yield LossGraph(self._observed[-1], self._probes)
        run = self._spec.run
        if FROM_THE_START & self._names() and (run.optimizer is not None or run.steps > 1):
            self._start = StartState()
            yield self._start
        if SHARED_MEMORY in self._probes:
            self._observed.append([])
            yield SharedMemory(self._observed[-1])
        if UNREGISTERED in self._probes:
            self._observed.append([])
            yield UnregisteredParameters(self._observed[-1])

    def _clipping(self) -> list[Measurement]:
        """Return a measurement for each hook that clips, if a rule asks for it."""
        if CLIPPING not in self._probes:
            return []
        clips = (
            (hook, action)
            for hook in self._spec.hooks
            for action in hook.actions
            if ACTIONS[action.name].clips
        )
        return [
            Measurement(
                CLIPPING, "", None,
                {"hook": hook.index, "action": action.name, "limit": str(action.argument),
                 "place": hook.place},
                None,
            )
            for hook, action in clips
        ]  # fmt: skip

    def conclude(
        self, model: Model, plan: Plan, recording: Recording, *, again: bool = True
    ) -> None:
        """Add all measurements to the recording; run the further runs if the run succeeded.

        There are no further runs if the model cannot be run `again`.
        """
        if self._values is not None:
            self._values.conclude()
        for probe in self._watching:
            probe.conclude()
        recording.measured += self._measurements
        for measurements in (*self._observed, self._clipping()):
            recording.measured += measurements
        failed = recording.failure is not None
        if not again or (failed and not _found_no_gradient(recording)):
            return
        self._lost = LostGradients.of(model, plan, recording)
        judged = self._spec.command == "check"
        if not (judged or failed or self._lost or CUT in self._probes):
            return
        if self._start is not None:
            self._start.restore()
        backwards = len(recording.gradients) * plan.backward.times
        ran = {RUN: PassCounts(plan.mode, plan.steps, backwards)}
        runs = Rerun(model, self._batch, plan, self._spec.run.device, loss=self._loss)
        if failed:
            recording.measured += self._ends(runs)
            return
        found = self._run(runs, ran)
        if runs.wrote_unseen():
            found = self._run(runs, ran)
        recording.measured += found
        if judged:
            recording.measured += passes_of(ran, self._spec.checks)

    def _ends(self, again: Rerun) -> list[Measurement]:
        """Find where gradients end, if a rule asks for it, or some are missing in this run."""
        everything = CUT in self._probes
        if not everything and not (REASON in self._probes and self._lost):
            return []
        try:
            return cuts(again, self._lost, everything=everything)
        except Exception as error:  # noqa: BLE001  # the user's code may raise anything
            value = _failed(error)
            return [Measurement(probe, "", None, value, None) for probe in (CUT, REASON)]

    def _run(self, again: Rerun, ran: dict[str, PassCounts]) -> list[Measurement]:
        """Run the probes that run the model again, and return their measurements in order."""
        measurements: list[Measurement] = []
        used_up, rules = is_used_up(self._batch), rules_of(self._spec.checks)
        for probe in self._probes:
            name, _, argument = probe.partition(":")
            if name in rules:
                self._doing(f"probe for {', '.join(rules[name])}")
            if used_up and name in _NOT_TWICE:
                why = {"why": "the batch contains an iterator, which one run exhausts"}
                measurements.append(Measurement(name, "", None, why, None))
            elif name.startswith("repeat_"):
                measure = partial(repeat, again, "eval" if name.endswith("eval") else "train")
                measurements.append(_measured(name, measure))
            elif name == "samples":
                dim = int(argument) if argument else None
                measurements.append(_measured(name, partial(_samples, again, dim)))
            elif name == "step":
                optimizer = self._spec.run.optimizer or OptimizerSpec()
                measurements += _or_error(name, partial(step, again, optimizer))
            elif name == "grown":
                measurements += grown(again, measurements)
            elif name == CUT or (name == REASON and CUT not in self._probes):
                measurements += self._ends(again)
            elif name in FURTHER:
                measure_further = partial(FURTHER[name], again, options_of(argument), self._spec)
                measurements += _or_error(name, measure_further)
            else:
                continue
            ran[name] = ran.get(name, PassCounts()).and_then(again.passes())
        return measurements


def _watching(
    probes: tuple[str, ...], measurements: list[Measurement]
) -> Iterator[ActivationObserver | RangeObserver | SpreadObserver]:
    """Yield the observers of activations that these probes need."""
    if not {PROBE, EXACT}.isdisjoint(probes):
        yield ActivationObserver(measurements, exact=EXACT in probes)
    if "spreads" in probes:
        yield SpreadObserver(measurements)
    for probe in probes:
        name, _, argument = probe.partition(":")
        if name == "ranges":
            dtype, _, scale = argument.partition(":")
            yield RangeObserver(measurements, dtype, float(scale))


def _found_no_gradient(recording: Recording) -> bool:
    """Whether a run ended before backward because nothing in the output requires grad."""
    failure = recording.failure
    return failure is not None and failure.phase == "loss" and failure.type == "ModelError"


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


def _or_error(name: str, measure: Callable[[], list[Measurement]]) -> list[Measurement]:
    """Return the measurements, or one with the error as its value if the model raised."""
    try:
        return measure()
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        return [Measurement(name, "", None, _failed(error), None)]


def _failed(error: Exception) -> dict[str, Any]:
    failure = failure_of(error, "forward")
    message = f"{failure.type}: {first_line(failure.message)}"
    return {"error": message, "place": failure.place}
