"""The search: hypotheses in order of likelihood, with repairs after each failure, within limits."""

from __future__ import annotations

import heapq
import inspect
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

from torch import nn

from hookcli.inputs.infer.clash import clash_of
from hookcli.inputs.infer.knobs import knobs
from hookcli.inputs.infer.layer_clues import Clues
from hookcli.inputs.infer.name_clues import clues_of, start
from hookcli.inputs.infer.repair import repairs
from hookcli.inputs.infer.solve import Attempt, Solver
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import Guess, Hypothesis, changes

MOST_TRIALS = 256
MOST_SECONDS = 20.0
_MOST_ELEMENTS = 1 << 26  # of one tensor: a repair that needs more is certainly wrong
_FIRST = 1.0  # cost of going to the next of the first hypotheses
_REPAIR = 0.4  # cost of a repair
_LATER = 0.15  # additional cost of each later repair of the same failure
_PROBING = 0.2  # additional cost of probing, which takes several trials
_EARLIER = 1.0  # cost of pursuing a probe that failed in an earlier layer
_SAME = 2  # how often one failure is probed
_MIXED = 3  # batches with which a fake tensor met a real one: other batches do not change that
_RECURSIONS = 3  # batches with which the calls of the model exceeded the recursion limit
_MORE = 48  # trials to find a batch that keeps the samples, after one that runs


@dataclass(frozen=True, slots=True)
class Search:
    """The hypothesis that was found, and all trials, in order."""

    found: Hypothesis | None
    trials: tuple[Trial, ...]
    seconds: float
    reasons: tuple[str, ...] = ()  # why it is what it is: the first guess, then each repair


@dataclass(order=True, slots=True)
class _Next:
    """What is tried next: a hypothesis, or a probe of the trial that failed."""

    cost: float
    number: int
    hypothesis: Hypothesis | None = field(compare=False)
    why: str = field(compare=False)
    parent: Trial | None = field(compare=False)
    probe: Iterator[Trial] | None = field(compare=False, default=None)


def _is_huge(hypothesis: Hypothesis) -> bool:
    return any(math.prod(spec.shape) > _MOST_ELEMENTS for _, spec in hypothesis.tensors())


class _Searcher:
    def __init__(
        self,
        clues: Clues,
        signature: inspect.Signature,
        attempt: Callable[[Hypothesis], Trial],
        given: dict[str, Guess],
    ) -> None:
        self._clues, self._signature, self._given = clues, signature, given
        self._attempt = attempt
        self._started = perf_counter()
        self._number = itertools.count()
        self._queue: list[_Next] = []
        self._seen: dict[Hypothesis, Trial] = {}
        self._probed: Counter[str] = Counter()
        self._keys: set[str] = set()
        self._cost = 0.0  # of what is being tried
        self._end = MOST_TRIALS
        self._recovering = False
        self.trials: list[Trial] = []
        self.found: Trial | None = None

    def run(self) -> Search:
        """Try until a batch runs that keeps the samples, or nothing is left."""
        for i, hypothesis in enumerate(start(self._signature, self._clues, self._given)):
            self._push(i * _FIRST, hypothesis, "names and layers", None)
        while self._queue and not self._over() and self.found is None:
            following = heapq.heappop(self._queue)
            self._cost = following.cost
            if following.hypothesis is not None:
                self._try(following.hypothesis, following.why, following.parent)
            elif following.probe is not None:
                trial = next(following.probe, None)
                if trial is not None and trial.ran:
                    self.found = trial
                elif trial is not None:
                    self._expand(trial, following.cost - _REPAIR)
                    following.cost += _REPAIR  # other sizes may get past the failure too
                    heapq.heappush(self._queue, following)
        if self.found is not None and not self.found.keeps_samples(self._clues.batch):
            self._recover(self.found)
        found, seconds = self.found, perf_counter() - self._started
        if found is not None:
            return Search(found.hypothesis, tuple(self.trials), seconds, tuple(found.reasons()))
        # Nothing ran. A trial that only fake tensors could not run may work with real ones. So may
        # one that exceeded the recursion limit, since fake tensors need more frames; if it does
        # not, the model calls itself without end, and no batch changes that.
        ends = (trial.hypothesis for trial in self.trials if trial.lost or trial.recursed)
        lost = next(ends, None)
        return Search(lost, tuple(self.trials), seconds)

    def _over(self) -> bool:
        late = perf_counter() - self._started > MOST_SECONDS
        deep = sum(trial.recursed for trial in self.trials) >= _RECURSIONS
        mixed = sum(trial.mixed for trial in self.trials) >= _MIXED
        return late or deep or mixed or len(self.trials) >= self._end

    def _push(self, cost: float, hypothesis: Hypothesis, why: str, parent: Trial | None) -> None:
        heapq.heappush(self._queue, _Next(cost, next(self._number), hypothesis, why, parent))

    def _run(self, hypothesis: Hypothesis, why: str, parent: Trial | None) -> Trial | None:
        """Run one trial, or return the one that was; None if it may not be run."""
        known = self._seen.get(hypothesis)
        if known is not None:
            return known
        given = any(hypothesis.get(name) != guess for name, guess in self._given.items())
        if self._over() or given or _is_huge(hypothesis):
            return None
        trial = self._attempt(hypothesis)
        trial.why, trial.parent = why, parent
        self._seen[hypothesis] = trial
        self.trials.append(trial)
        if trial.ran and self.found is None:
            self.found = trial
        return trial

    def _try(self, hypothesis: Hypothesis, why: str, parent: Trial | None) -> None:
        if hypothesis in self._seen:
            return
        trial = self._run(hypothesis, why, parent)
        if trial is not None and not trial.ran:
            self._expand(trial, self._cost)

    def _expand(self, trial: Trial, cost: float) -> None:
        """Queue what may repair a failed trial: known repairs, then probing."""
        self._keys.add(trial.key)
        progress = min(trial.calls, 40) * 0.01  # further is better
        ways = repairs(trial, self._clues, self._signature)
        for i, (changed, reason) in enumerate(itertools.islice(ways, 12)):
            if changed not in self._seen:
                price = cost + _REPAIR + i * _LATER - progress
                self._push(price, changed, reason, trial)
        if self._probed[trial.key] < _SAME:
            price = cost + _REPAIR + _PROBING - progress
            probe = self._probe(trial)
            heapq.heappush(self._queue, _Next(price, next(self._number), None, "", None, probe))

    def _probe(self, failure: Trial) -> Iterator[Trial]:
        """Yield trials that got past a failure, from probing sizes."""
        if self._probed[failure.key] >= _SAME:
            return
        self._probed[failure.key] += 1
        fixed = frozenset(self._given)
        clash = clash_of(failure, self._clues.batch)
        if clash is not None:
            solver = Solver(failure, clash, self._probing, self._clues.batch, fixed)
            yield from solver.solve()
        elif _is_small(failure):
            yield from grown(failure, self._probing, fixed)

    def _probing(self, hypothesis: Hypothesis, why: str, parent: Trial) -> Trial | None:
        if self.found is not None and not self._recovering and parent is not self.found.parent:
            return None  # only a rounder size of the batch that runs may still be tried
        trial = self._run(hypothesis, why, parent)
        if trial is not None and not trial.ran and trial.key not in self._keys:
            # Another failure may be easier to repair; less likely one of an earlier layer.
            earlier = trial.calls < parent.calls
            self._expand(trial, self._cost + (_EARLIER if earlier else _REPAIR))
        return trial

    def _recover(self, found: Trial) -> None:
        """Look for sizes with which a batch that runs also keeps its samples apart.

        Another size is likely to fail, and then its error names the size that is needed.
        """
        self._end, self._recovering = len(self.trials) + _MORE, True
        for knob in itertools.islice(knobs(found.hypothesis, frozenset(self._given)), 2):
            for size in (2 * knob.size, knob.size // 2, knob.size + 3):
                changed = knob.set(found.hypothesis, size)
                why = f"{changes(found.hypothesis, changed)}: the output has too many rows"
                failure = self._probing(changed, why, found)
                if failure is None or failure.ran:
                    continue
                for trial in self._probe(failure):
                    if trial.ran and trial.keeps_samples(self._clues.batch):
                        self.found = trial
                        return


def search(
    root: nn.Module,
    signature: inspect.Signature,
    attempt: Callable[[Hypothesis], Trial],
    *,
    batch: int,
    given: dict[str, Guess],
    function: Callable[..., object] | None = None,
) -> Search:
    """Search for a batch that runs, with at most `MOST_TRIALS` trials.

    `given` are fixed values of parameters, which no repair changes. `function` is what `attempt`
    runs, if it is not forward.
    """
    clues = clues_of(root, signature, batch, function)
    return _Searcher(clues, signature, attempt, given).run()


# Larger inputs, for a kernel, a window or a `topk` that needs more than it got.

_SMALL = re.compile(
    r"Kernel size can't be greater|[Oo]utput size is too small|more than 1 (?:spatial|value)|"
    r"Padding size should be less|output size[:of (]|non-?positive|too small|too short|"
    r"selected index k out of range|k not in range|invalid computed output size|non-empty|"
    r"must be at least|exceeds dimension size|at least one|maximum size for tensor at dimension|"
    r"out of bounds|larger than|expected 0 < n_fft", re.IGNORECASE
)  # fmt: skip
_DOUBLINGS = 10


def _is_small(trial: Trial) -> bool:
    """Whether the trial's error says that something was too small."""
    return not trial.ran and bool(_SMALL.search(trial.error))


def grown(failure: Trial, attempt: Attempt, fixed: frozenset[str]) -> Iterator[Trial]:
    """Yield trials with a larger input that got past the failure, at most one for each size."""
    reason = " ".join(failure.error.split())[:60]
    for knob in knobs(failure.hypothesis, fixed):
        size = knob.size
        for _ in range(_DOUBLINGS):
            size *= 2
            if size > knob.most:
                break
            hypothesis = knob.set(failure.hypothesis, size)
            why = f"{changes(failure.hypothesis, hypothesis)}: {reason}"
            trial = attempt(hypothesis, why, failure)
            if trial is None:
                break
            if trial.passes(failure):
                yield trial
                break
            if trial.key != failure.key:
                break
