"""Find the rank that failed first; the others only lost their connection to it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hookcli.catalogue.kind import PHASES, Phase
from hookcli.report.report import ErrorInfo

# Errors of the other ranks after one has died.
_LOST = re.compile(
    r"Connection (closed|reset|refused)|Broken pipe|\bgloo\b|NCCL|ProcessGroup|"
    r"store|peer|Timed out|timed out|[Ss]ocket",
)
_KILLED = ("died", "memory")
_OF_STEPS: tuple[Phase, ...] = ("forward", "loss", "backward", "optimizer")


@dataclass(frozen=True, slots=True)
class Failed:
    """The failure of a rank: the error, its step, and its position in the order of arrival."""

    rank: int
    error: ErrorInfo
    step: int | None
    news: int


def is_lost_connection(message: str) -> bool:
    """Whether a rank failed since another one did not answer."""
    return _LOST.search(message) is not None


def _rank_of(failure: Failed) -> tuple[int, int]:
    """Return a sort key: first ranks that died, then raised, timed out, or lost the connection."""
    if failure.error.type in _KILLED:
        return (0, failure.news)
    if failure.error.type == "timeout":
        return (2, failure.news)
    return (3 if is_lost_connection(failure.error.message) else 1, failure.news)


def _progress(failure: Failed) -> tuple[int, int, int]:
    """Return how far a rank had come: all others wait for the one with the least progress."""
    phases = (*PHASES, "report")
    error = failure.error
    phase = phases.index(error.phase) if error.phase in phases else -1
    return (failure.step or 0, phase, error.call or 0)


def culprit(failed: Sequence[Failed]) -> Failed:
    """Return the rank to blame."""
    worst = min(_rank_of(failure)[0] for failure in failed)
    first = [failure for failure in failed if _rank_of(failure)[0] == worst]
    if worst == 2:  # timeouts
        return min(first, key=_progress)
    return min(first, key=_rank_of)


def describe_failure(
    failure: Failed, failed: Sequence[Failed], steps: int, world: int
) -> ErrorInfo:
    """Return the error with the rank, the step, and after a timeout the phases of other ranks.

    If all ranks of the `world` raised the same error, the message is about all ranks.
    """
    is_in_step = failure.error.phase in _OF_STEPS and failure.step is not None and steps > 1
    step = f", step {failure.step}" if is_in_step else ""
    waited = ""
    if failure.error.type == "timeout":
        others = [f"rank {o.rank} in {o.error.phase}" for o in failed if o.rank != failure.rank]
        waited = f" (meanwhile {', '.join(others[:3])})" if others else ""
    errors = {(o.error.type, o.error.message, o.error.place, o.step) for o in failed}
    who = "all ranks" if len(failed) == world and len(errors) == 1 else f"rank {failure.rank}"
    message = f"{who}{step}{waited}: {failure.error.message}"
    return dataclasses.replace(failure.error, message=message)
