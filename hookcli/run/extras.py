"""What a run does in addition: exchange data with a compared run, and run the rules' probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import nn

from hookcli.models.model import Model
from hookcli.report.recording import Recording
from hookcli.run.batch.candidates import Candidate
from hookcli.run.observe.watcher import Watcher
from hookcli.spec.plan import Plan
from hookcli.spec.request import Attempt, Spec

if TYPE_CHECKING:
    from hookcli.run.checked_run import CheckedRun
    from hookcli.run.diff.exchange import Side


def _probes(spec: Spec, doing: Callable[[str], None]) -> CheckedRun | None:
    if not spec.probes:
        return None
    from hookcli.run.checked_run import CheckedRun  # only for runs that are checked

    return CheckedRun(spec, doing=doing)


def _side(spec: Spec) -> Side | None:
    if spec.side is None:
        return None
    from hookcli.run.diff.exchange import Side  # only for a side of a diff

    return Side(spec, spec.side)


class RunExtras:
    """What a request asks for in addition to its run; nothing for a fake run."""

    def __init__(self, spec: Spec, attempt: Attempt, doing: Callable[[str], None]) -> None:
        real = attempt.tensors == "real"
        self._side = _side(spec) if real else None
        self._probes = _probes(spec, doing) if real else None

    def exchange_weights(self, root: nn.Module) -> None:
        """Write the weights for the other side of a diff, or load those of the other side."""
        if self._side is not None:
            self._side.exchange_weights(root)

    def their_batch(self, root: nn.Module) -> Candidate | None:
        """Return the batch of the other side of a diff, if this side uses it."""
        return None if self._side is None else self._side.their_batch(root)

    def observers(self, candidate: Candidate, recording: Recording) -> Sequence[Watcher]:
        """Return the observers of a run with this batch."""
        probes = () if self._probes is None else self._probes.observers(candidate.batch)
        if self._side is not None:
            return (*self._side.observers(candidate, recording), *probes)
        return probes

    def conclude(self, model: Model, plan: Plan, recording: Recording, *, again: bool) -> None:
        """Add the results to the recording; probes run the model `again` if that is possible.

        It is not for a sharded model: a rank would wait for others that do not run the probe.
        """
        if self._side is not None:
            self._side.conclude(recording)
        if self._probes is not None:
            self._probes.conclude(model, plan, recording, again=again)
