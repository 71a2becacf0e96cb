"""The search: hypotheses in order of likelihood, each failure mended, within bounds."""

from __future__ import annotations

import heapq
import inspect
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from torch import nn

from hookcli.inputs.infer.layer_clues import Clues
from hookcli.inputs.infer.name_clues import start
from hookcli.inputs.infer.repair import mends
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import Guess, Hypothesis

MOST_TRIALS = 64
MOST_SECONDS = 20.0
_MOST_ELEMENTS = 1 << 26  # of one tensor: a mend that asks for more has gone astray
_FIRST = 1.0  # cost of going to the next of the first hypotheses
_MEND = 0.4  # cost of a mend, and of each later one from the same failure
_LATER = 0.15


@dataclass(frozen=True, slots=True)
class Search:
    """What was found, and every trial on the way, in order."""

    found: Hypothesis | None
    trials: tuple[Trial, ...]
    seconds: float


def _is_huge(hypothesis: Hypothesis) -> bool:
    return any(math.prod(spec.shape) > _MOST_ELEMENTS for _, spec in hypothesis.tensors())


def search(
    root: nn.Module,
    signature: inspect.Signature,
    attempt: Callable[[Hypothesis], Trial],
    *,
    batch: int,
    given: dict[str, Guess],
) -> Search:
    """A batch that runs, by at most `MOST_TRIALS` trials.

    `given` are guesses that stand. Parameters that stand are not changed by a mend.
    """
    started = perf_counter()
    clues = Clues(root, batch)
    number = itertools.count()
    queue: list[tuple[float, int, Hypothesis, str]] = []
    for i, hypothesis in enumerate(start(signature, clues, given)):
        heapq.heappush(queue, (i * _FIRST, next(number), hypothesis, "names and layers"))
    seen: set[Hypothesis] = set()
    trials: list[Trial] = []
    while queue and len(trials) < MOST_TRIALS and perf_counter() - started < MOST_SECONDS:
        cost, _, hypothesis, why = heapq.heappop(queue)
        if hypothesis in seen or _is_huge(hypothesis):
            continue
        seen.add(hypothesis)
        trial = attempt(hypothesis)
        trial.why = why
        trials.append(trial)
        if trial.ran:
            return Search(hypothesis, tuple(trials), perf_counter() - started)
        progress = min(len(trial.reached), 40) * 0.01  # further is better
        for i, (changed, reason) in enumerate(mends(trial, clues, signature)):
            if i >= 12:
                break
            if changed in seen or any(changed.get(n) != g for n, g in given.items()):
                continue
            price = cost + _MEND + i * _LATER - progress
            heapq.heappush(queue, (price, next(number), changed, reason))
    # Nothing ran; what only fake tensors could not follow may run for real.
    lost = next((trial.hypothesis for trial in trials if trial.lost), None)
    return Search(lost, tuple(trials), perf_counter() - started)
