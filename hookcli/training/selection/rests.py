"""Which steps are not watched, so that watching takes a small part of the time of small steps."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Protocol

from hookcli.spec.training import TrainingSpec
from hookcli.training.selection.sampling import FREE, SHARE, is_limited, next_selected

WINDOW = 64  # successive steps that are watched, or not, together
_SMALL = 1.5e-3  # seconds of a step, beyond which watching takes less than a tenth
_SHARE = 0.04  # what watching may take, of the time of the steps
_SHARE_IN_DETAIL = 0.015  # what steps in detail may take then, of the time of the script
_LEAST = 16  # steps whose times are known of a window
_FEW = 4  # steps that are too few for a rest


class TimedSteps(Protocol):
    """The steps of a record."""

    @property
    def total(self) -> int:
        """The number of steps."""

    def durations(self, most: int) -> list[float]:
        """Return how long each of the last steps took, in seconds; none if some are not known."""


class Rests:
    """Decides after which steps of a record the next ones are not watched.

    All steps are watched until watching has taken a second. From then on the first 64 of 128, 256,
    512 … steps are, and those that are observed in detail. The period is the shortest with which
    watching takes less than a tenth of the time. It is a power of two, so that two runs of a script
    have watched steps in common. What watching takes is known from 64 steps that were not watched.
    """

    def __init__(self, training: TrainingSpec) -> None:
        self._training = training
        self._is_possible = is_limited(training) and training.stop_on is None
        self._plain: float | None = None  # seconds of a step that is not watched
        self._period = 0
        self._first = 0  # the first step that may not be watched

    @property
    def share_in_detail(self) -> float:
        """What steps in detail may take, of the time of the script."""
        return _SHARE_IN_DETAIL if self._period else SHARE

    def until(self, steps: TimedSteps) -> int | None:
        """Return the step before which none is watched from now on; None if the next one is."""
        at = steps.total
        if not self._is_possible:
            return None
        if at % WINDOW == 0:
            if self._plain is None:
                return self._trial(steps)
            self._decide(steps)
        if not self._period or at < self._first or at % self._period < WINDOW:
            return None
        return self._bounded(at, at - at % self._period + self._period)

    def _trial(self, steps: TimedSteps) -> int | None:
        """Return the end of the first steps that are not watched, when there is reason for them."""
        watched = _time_of(steps)
        if watched is None or watched > _SMALL or steps.total * watched < FREE:
            return None
        return self._bounded(steps.total, steps.total + WINDOW)

    def _bounded(self, at: int, end: int) -> int | None:
        selected = next_selected(self._training, at)
        end = end if selected is None else min(end, selected)
        return end if end - at >= _FEW else None

    def rested(self, durations: Sequence[float]) -> None:
        """Note the times of steps that were not watched, in seconds."""
        if len(durations) >= _LEAST:
            self._plain = median(durations)

    def _decide(self, steps: TimedSteps) -> None:
        """Decide how many steps are watched, from what the last window took."""
        watched = _time_of(steps)
        if watched is None or not self._plain:
            return
        more = watched - self._plain
        if more <= _SHARE * self._plain:
            self._period = 0
            return
        self._first = self._first or int(FREE / more)
        period = 2 * WINDOW
        while WINDOW * more > _SHARE * self._plain * period:
            period *= 2
        self._period = period

    def stop(self) -> None:
        """Watch each step from now on."""
        self._is_possible = False


def _time_of(steps: TimedSteps) -> float | None:
    """Return the median time of the steps of the last window, in seconds."""
    durations = steps.durations(WINDOW)
    return median(durations) if len(durations) >= _LEAST else None
