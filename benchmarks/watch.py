"""Measures how long the answer to an edit takes with `--watch`, beside a fresh run.

An edit and a fresh run of the same file take turns. Printed, in seconds: the median and the longest
time from the end of the write to the line of `--watch` on stdout, the same of a fresh run, and the
time that the model itself takes in plain PyTorch, without imports.

    python -m benchmarks.watch [--command inspect] [--turns 10]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, {width})
        self.fc2 = nn.Linear({width}, 4)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())
"""
PLAIN = """
import time, torch
from torch import nn
{model}
start = time.perf_counter()
loss = Net()(torch.randn(2, 8)).sum()
loss.backward()
print(time.perf_counter() - start)
"""


def main() -> None:
    """Measure, and print a line for each of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="inspect")
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        edits, fresh = measured(Path(folder) / "net.py", options.command, options.turns)
        plain = float(python("-c", PLAIN.format(model=MODEL.format(width=16))))
    for name, seconds in (("edit", edits), ("fresh run", fresh), ("plain PyTorch", [plain])):
        print(f"{name:14} {statistics.median(seconds):6.3f} s, at most {max(seconds):6.3f} s")


def python(*arguments: str) -> str:
    """Run Python and return its output."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def measured(file: Path, command: str, turns: int) -> tuple[list[float], list[float]]:
    """Return the seconds of each edit and of each fresh run, which take turns."""
    line = ["-m", "hookcli", command, str(file), "-i", "2x8"]
    file.write_text(MODEL.format(width=16))
    edits, fresh = [], []
    with subprocess.Popen(
        [sys.executable, *line, "--watch"], stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        watch.stdout.readline()
        for turn in range(turns):
            started = time.perf_counter()
            python(*line)
            fresh.append(time.perf_counter() - started)
            file.write_text(MODEL.format(width=17 + turn))
            started = time.perf_counter()
            answer = watch.stdout.readline()
            edits.append(time.perf_counter() - started)
            assert f"[2, {17 + turn}]" in answer, answer
        watch.terminate()
    return edits, fresh


if __name__ == "__main__":
    main()
