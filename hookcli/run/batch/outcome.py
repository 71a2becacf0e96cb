"""What came of a candidate batch, and of an attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hookcli.report.recording import Failure, Recording
from hookcli.report.report import Inputs, Report
from hookcli.run.batch.candidates import Candidate
from hookcli.spec.inferred import Hypothesis


@dataclass(slots=True)
class Outcome:
    """What one candidate batch led to."""

    candidate: Candidate
    inputs: Inputs
    recording: Recording
    inconclusive: bool


@dataclass(frozen=True, slots=True)
class Result:
    """A report, the batch that was settled on, and the tries that inference made."""

    report: Report
    declaration: str | None
    inferred: Hypothesis | None
    trials: tuple[str, ...]
    exchange: Callable[[str], tuple[str | None, ...]] | None = None  # of ranks' reports

    def others(self, text: str) -> tuple[str | None, ...]:
        """The reports of the other ranks; where they are elsewhere, each gives its own."""
        return () if self.exchange is None else self.exchange(text)


@dataclass(frozen=True, slots=True)
class InferenceResult:
    """What a search came to: the batch, what was tried for an error, and a line for each trial."""

    hypothesis: Hypothesis | None = None
    tried: str = ""
    trials: tuple[str, ...] = ()


def blames_batch(candidate: Candidate, failure: Failure) -> bool:
    """Whether another batch may do better: this one was the model's own idea, and did not fit."""
    own = candidate.origin == "declared" and failure.phase == "forward"
    return own and failure.hook is None
