"""Larger inputs, for a kernel, a window or a `topk` that needs more than it got."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookcli.inputs.infer.knobs import knobs
from hookcli.inputs.infer.solve import Attempt
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import changes

_SMALL = re.compile(
    r"Kernel size can't be greater|[Oo]utput size is too small|more than 1 (?:spatial|value)|"
    r"Padding size should be less|output size[:of (]|non-?positive|too small|too short|"
    r"selected index k out of range|k not in range|invalid computed output size|non-empty|"
    r"must be at least|exceeds dimension size|at least one|maximum size for tensor at dimension|"
    r"out of bounds|larger than|expected 0 < n_fft", re.IGNORECASE
)  # fmt: skip
_DOUBLINGS = 10


def is_small(trial: Trial) -> bool:
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
