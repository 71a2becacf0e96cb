"""Which steps are observed in detail, so that the observation takes a small part of the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from hookcli.spec.training import TrainingSpec

# What the observation of a step may take, after which no call that begins is observed.
MOST_CALLS = 2_000  # of modules
MOST_SECONDS = 2.0  # or half of the time of the step, if that is more
FREE = 1.0  # seconds that observation in detail may always take
SHARE = 0.1  # of the time of the script, beyond these


def is_limited(training: TrainingSpec) -> bool:
    """Return whether the observation of a step is limited: not if each step is selected."""
    return 1 not in training.steps.every


@dataclass(slots=True)
class Sampling:
    """Decides for one record, and adds up how long its steps take with observation and without.

    Steps that `--steps` names, also as a range, are always observed. One in N (`every:N`) is
    omitted if the earlier ones took longer than a second and a tenth of the script's time.
    `omitted` is the number of those. `asked` has the first and last ones of steps that somebody has
    asked for while the script runs, which are observed too.
    """

    training: TrainingSpec
    omitted: int = 0
    decided: tuple[int, bool] = (-1, False)  # the last step, and whether it is sampled
    share: float = SHARE
    asked: list[tuple[int, int]] = field(default_factory=list)
    _sampled: float = 0.0  # seconds
    _samples: int = 0
    _plain: float = 0.0
    _others: int = 0

    def is_sampled(self, step: int, started: float) -> bool:
        """Return whether a step is observed; it is decided once. `started` is by perf_counter."""
        if self.decided[0] == step:
            return self.decided[1]
        chosen = is_selected(self.training, step)
        if chosen and self._may_omit(step) and self._is_spent(started):
            chosen = False
            self.omitted += 1
        if self.asked:
            first = self.next_asked(step)
            chosen = chosen or first == step
        self.decided = step, chosen
        return chosen

    def next_asked(self, step: int) -> int | None:
        """Return the first step from this one on that somebody asked for; None if there is none."""
        self.asked = [(first, last) for first, last in self.asked if last >= step]
        return min((max(first, step) for first, _ in self.asked), default=None)

    def _may_omit(self, step: int) -> bool:
        steps = self.training.steps
        if not is_limited(self.training) or step + 1 == self.training.max_steps:
            return False
        return not any(first <= step <= last for first, last in steps.ranges)

    def _is_spent(self, started: float) -> bool:
        if not self._others:
            return False
        more = self._sampled - self._samples * self._plain / self._others
        return more > FREE + self.share * (time.perf_counter() - started)

    def took(self, seconds: float, *, sampled: bool) -> None:
        """Note how long a step took, from its first forward on."""
        if sampled:
            self._sampled += seconds
            self._samples += 1
        else:
            self._plain += seconds
            self._others += 1


def is_selected(training: TrainingSpec, step: int) -> bool:
    """Return whether `--steps` selects a step, or it is the last one."""
    return step in training.steps or step + 1 == training.max_steps


def next_selected(training: TrainingSpec, step: int) -> int | None:
    """Return the first step from this one on that is selected; None if there is none."""
    steps = training.steps
    found = [max(first, step) for first, last in steps.ranges if last >= step]
    found += [-(-step // period) * period for period in steps.every]
    if training.max_steps is not None and training.max_steps > step:
        found.append(training.max_steps - 1)
    return min(found, default=None)
