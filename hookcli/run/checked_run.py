"""What observes and follows a run that is judged: the probes, and the search for a first NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookcli.models.batch import Batch
from hookcli.models.model import Model
from hookcli.report.recording import Recording
from hookcli.rules.finite import OPERATOR
from hookcli.run.first_non_finite.initial_state import InitialState
from hookcli.run.first_non_finite.suspicion import first_bad_step
from hookcli.run.losses.criterion import Loss
from hookcli.run.observe.watcher import Watcher
from hookcli.run.probes.probes import Probes
from hookcli.run.probes.rerun import copied
from hookcli.spec.plan import Plan, plan
from hookcli.spec.probes import requests_probe
from hookcli.spec.request import Spec

if TYPE_CHECKING:
    from hookcli.run.first_non_finite.second_run import SecondRun


class CheckedRun:
    """The probes of a request; `doing` is called as each additional run starts."""

    def __init__(
        self,
        spec: Spec,
        loss: Loss | None = None,
        *,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spec, self._loss, self._doing = spec, loss, doing
        self._probes = Probes(spec, loss, doing=doing)
        self._initial: InitialState | None = None
        self._batch = Batch()

    def observers(self, batch: Batch) -> tuple[Watcher, ...]:
        """Return the observers of a run with this batch."""
        observers = self._probes.observers(batch)
        if not requests_probe(self._spec.probes, OPERATOR):
            return observers
        self._batch = copied(batch)
        self._initial = InitialState(parameters=plan(self._spec).optimizer is not None)
        return (self._initial, *observers)

    def conclude(
        self, model: Model, settings: Plan, recording: Recording, *, again: bool = True
    ) -> None:
        """Add all measurements to the recording; the model runs `again` if that is possible."""
        self._probes.conclude(model, settings, recording, again=again)
        step = first_bad_step(recording)
        if step is None or self._initial is None or not again:
            return
        self._doing("second run to find the operator of the first value that is not finite")
        second = self._second_run(self._initial)
        recording.measured += second.measure(model, settings, step)

    def _second_run(self, initial: InitialState) -> SecondRun:
        from hookcli.run.first_non_finite.second_run import SecondRun  # few runs need it

        return SecondRun(self._spec, self._batch, initial, self._loss)
