"""The watchers of a run that is judged: the probes, and the search for a first NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hookcli.engine.first_non_finite.initial_state import InitialState
from hookcli.engine.first_non_finite.suspicion import first_bad_step
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.probes.probes import watchers_for
from hookcli.engine.probes.rerun import copied
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.models.batch import Batch
from hookcli.rules.finite import OPERATOR
from hookcli.spec.checks import requests_probe
from hookcli.spec.plan import plan
from hookcli.spec.request import Spec

if TYPE_CHECKING:
    from hookcli.engine.first_non_finite.second_run import SecondRun


def rule_watchers(
    spec: Spec,
    batch: Batch,
    loss: Loss | None = None,
    *,
    doing: Callable[[str], None] = lambda _: None,
) -> Iterator[Watcher]:
    """Yield the watchers that the rules of a request need for a run with this batch.

    `loss` replaces the loss of the request. `doing` is called as each additional run starts.
    """
    kept = copied(batch)  # the run may write to the batch; each further run copies this again
    if not requests_probe(spec.probes, OPERATOR):
        yield from watchers_for(spec, kept, loss, doing)
        return
    initial = InitialState(parameters=plan(spec).optimizer is not None)
    yield initial
    yield from watchers_for(spec, kept, loss, doing)
    yield SecondRunIfNonFinite(spec, kept, loss, initial, doing)


class SecondRunIfNonFinite(Watcher):
    """Runs the model a second time if a value is not finite, to find the operator of the first."""

    def __init__(
        self,
        spec: Spec,
        batch: Batch,
        loss: Loss | None,
        initial: InitialState,
        doing: Callable[[str], None],
    ) -> None:
        self._spec, self._loss, self._initial, self._doing = spec, loss, initial, doing
        self._batch = batch

    def conclude(self, after: AfterRun) -> None:
        """Add the measurement to the recording."""
        step = first_bad_step(after.recording)
        if step is None or not after.again:
            return
        self._doing("second run to find the operator of the first value that is not finite")
        second = self._second_run()
        after.recording.measured += second.measure(after.model, after.plan, step)

    def _second_run(self) -> SecondRun:
        from hookcli.engine.first_non_finite.second_run import SecondRun  # few runs need it

        return SecondRun(self._spec, self._batch, self._initial, self._loss)
