"""`python -m benchmarks.journal_cost [--rounds 5]`: what the journal adds to `hookcli run`.

Each training runs with a journal and without one, in turns: without, because a folder has its name.
The figures are of the processor time of the loop, which the script measures itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import HOOKCLI, ROOT

PEERS = ROOT / "benchmarks" / "peers"
TRAININGS = (
    ("training.py", "cnn", 150),
    ("training.py", "gpt", 150),
    ("small_trainings.py", "sgd", 20_000),
    ("small_trainings.py", "gan", 3_000),
)


def loop_of(script: str, kind: str, steps: int, *, journal: bool) -> float:
    """Return the processor time of the loop of one run, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "times.json")
        if not journal:
            Path(folder, "run.json.journal").mkdir()
        subprocess.run(
            [HOOKCLI, "run", "-q", "-o", "run.json", str(PEERS / script), kind, str(steps)],
            cwd=folder,
            env={**os.environ, "BENCH_TIMES": str(told), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(told.read_text())["processor"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for script, kind, steps in TRAININGS:
        pairs = []
        for _ in range(rounds):
            without = loop_of(script, kind, steps, journal=False)
            pairs.append((loop_of(script, kind, steps, journal=True), without))
        ratio = median(one / other for one, other in pairs)
        each = median((one - other) / steps for one, other in pairs)
        print(f"{kind:5} {steps:6,} steps: {ratio:.3f}, {each * 1e6:+.1f} µs a step", flush=True)


if __name__ == "__main__":
    main()
