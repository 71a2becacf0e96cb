"""The search: hypotheses in order of likelihood, with repairs after each failure, within limits."""

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
from hookcli.inputs.infer.repair import repairs
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import Guess, Hypothesis

MOST_TRIALS = 64
MOST_SECONDS = 20.0
_MOST_ELEMENTS = 1 << 26  # of one tensor: a repair that needs more is certainly wrong
_FIRST = 1.0  # cost of going to the next of the first hypotheses
_REPAIR = 0.4  # cost of a repair
_LATER = 0.15  # additional cost of each later repair of the same failure


@dataclass(frozen=True, slots=True)
class Search:
    """The hypothesis that was found, and all trials, in order."""

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
    """Search for a batch that runs, with at most `MOST_TRIALS` trials.

    `given` are fixed values of parameters, which no repair changes.
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
        for i, (changed, reason) in enumerate(repairs(trial, clues, signature)):
            if i >= 12:
                break
            if changed in seen or any(changed.get(n) != g for n, g in given.items()):
                continue
            price = cost + _REPAIR + i * _LATER - progress
            heapq.heappush(queue, (price, next(number), changed, reason))
    # Nothing ran. A trial that only fake tensors could not run may work with real ones.
    lost = next((trial.hypothesis for trial in trials if trial.lost), None)
    return Search(lost, tuple(trials), perf_counter() - started)
