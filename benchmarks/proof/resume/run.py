"""Counts how often the group that a resumed training lost is named, and what right ones are told.

`python -m benchmarks.proof.resume.run [names]` runs each script of scripts.py whole, resumed as it
should be, and resumed without each part of its state that it has, in this process, with hookcli
watching. The reports are compared as `hookcli diff` does.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.proof.resume.scripts import LOSSES, SCRIPTS, has, train
from benchmarks.proof.training_alarms import observe
from hookcli.comparison.training.compare_trainings import compare_trainings


def results(names=()):
    """Yield (script, loss, the group that must be named, the comparison); loss is "" if right."""
    for name, script in SCRIPTS.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scheduler.step before optimizer.step
            file = Path(folder, "state.pt")
            whole = observe(lambda: train(script, file, resume=False))
            for loss in ("", *LOSSES):
                if loss and not has(script, loss):
                    continue
                rest = observe(lambda loss=loss: train(script, file, resume=True, loss=loss))
                yield name, loss, LOSSES.get(loss), compare_trainings(whole, rest)


def main() -> int:
    right, silent, lost, named = 0, 0, 0, 0
    for name, loss, group, diff in results(sys.argv[1:]):
        found = None if diff.resume is None else diff.resume.lost
        is_so = found == group and diff.resume is not None
        if loss:
            lost, named = lost + 1, named + is_so
        else:
            is_so = is_so and diff.verdict == "same"
            right, silent = right + 1, silent + is_so
        if not is_so:
            told = "nothing is aligned" if diff.resume is None else diff.resume.sentence
            print(f"{name}, without {loss or 'nothing'}: {group}: {told}; {diff.reasons}")
    print(f"named: {named} of {lost} losses; silent: {silent} of {right} right resumes")
    return int(silent < right or named < 0.9 * lost)


if __name__ == "__main__":
    sys.exit(main())
