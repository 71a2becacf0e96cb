"""`python -m benchmarks.compiled_cost [BACKEND] [ROUNDS]`: what `--compiled` costs a training.

The small GPT and the ResNet-20 of the benchmarks under torch.compile, in one thread: by `python`,
and by `hookcli run` in each mode, in turns. The figures are the median processor time of a step
after the first ones, relative to `python` in the same round; the median of the rounds. `same` tells
whether loss and weights are those of `python` at the end, bit by bit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import median

from benchmarks.timing import HOOKCLI, ROOT

STEPS = 60
MODES = {
    "python": None,
    "hookcli run": (),
    "--compiled layers": ("--compiled", "layers"),
    "--compiled statistics": ("--compiled", "statistics"),
    "--compiled eager-samples": ("--compiled", "eager-samples"),
}


def run(kind, backend, flags):
    """Return what the training printed."""
    training = ("-m", "benchmarks.compiled_training", kind, backend, str(STEPS))
    words = (
        [sys.executable, *training] if flags is None else [HOOKCLI, "run", "-q", *flags, *training]
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.strip().splitlines()[-1])


def main():
    backend = sys.argv[1] if len(sys.argv) > 1 else "inductor"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for kind in ("gpt", "cnn"):
        found = {mode: [] for mode in MODES}
        for _ in range(rounds):
            for mode, flags in MODES.items():
                found[mode].append(run(kind, backend, flags))
        plain = found["python"]
        for mode, runs in found.items():
            ratios = [
                median(one["steps"]) / median(other["steps"])
                for one, other in zip(runs, plain, strict=True)
            ]
            same = all(one["digest"] == plain[0]["digest"] for one in runs)
            step = median(median(one["steps"]) for one in runs) * 1e3
            first = median(one["first"] for one in runs)
            print(
                f"{kind} {backend} {mode}: step {step:.1f} ms, ratio {median(ratios):.3f}, first "
                f"steps {first:.1f} s, same {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
