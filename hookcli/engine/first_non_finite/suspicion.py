"""Whether what a run recorded shows a value that is not finite; this costs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hookcli.report.recording import Recording
from hookcli.rules.finite import FOUND, is_mask


def first_bad_step(recording: Recording) -> int | None:
    """Return the first step in which a value, the loss or a gradient is not finite, if any.

    The losses, the gradients and the statistics that were asked for are looked at, and the values
    that were checked. None too if a parameter was not finite before the run, or an optimizer made
    it so: no operator of the model did.
    """
    return min(_steps(recording), default=None)


def _steps(recording: Recording) -> Iterator[int]:
    for step, loss in enumerate(recording.losses):
        if not math.isfinite(loss):
            yield step
    for step, gradients in enumerate(recording.gradients):
        if any(note.status == "non_finite" for note in gradients.values()):
            yield step
    for event in recording.events:
        forward = event.phase in {"forward", "loss"}
        if any(_is_bad(stats, masks=forward) for stats in event.stats or ()):
            yield event.step
    for row in recording.measured:
        at = row.value["at"] if row.probe == FOUND else None
        if at not in {None, "parameter", "updated"} and not is_mask(row):
            yield row.value["step"]


def _is_bad(stats: dict[str, Any] | None, *, masks: bool) -> bool:
    """Whether statistics count NaN or Inf; -Inf alone is one of the `masks`, if there are some."""
    if stats is None:
        return False
    masked = masks and stats.get("max") != math.inf
    return bool(stats.get("nans") or (stats.get("infs") and not masked))
