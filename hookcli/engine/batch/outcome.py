"""The results of a candidate batch, of an inference and of an attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookcli.engine.batch.candidates import Candidate
from hookcli.engine.watcher import Watcher
from hookcli.report.recording import Failure, Recording
from hookcli.report.report import Inputs, Report
from hookcli.spec.inferred import Hypothesis


@dataclass(slots=True)
class Outcome:
    """The result of running one candidate batch."""

    candidate: Candidate
    inputs: Inputs
    recording: Recording
    inconclusive: bool
    watchers: Sequence[Watcher] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: its report, the batch that was used, the trials of inference."""

    report: Report
    declaration: str | None
    inferred: Hypothesis | None
    trials: tuple[str, ...]
    exchange: Callable[[str], tuple[str | None, ...]] | None = None  # exchanges ranks' reports

    def others(self, text: str) -> tuple[str | None, ...]:
        """Send this rank's report as text, and return those of the other ranks."""
        return () if self.exchange is None else self.exchange(text)


def blames_batch(candidate: Candidate, failure: Failure) -> bool:
    """Whether another batch may run: this one was declared by the model, and forward failed."""
    own = candidate.origin == "declared" and failure.phase == "forward"
    return own and failure.hook is None
