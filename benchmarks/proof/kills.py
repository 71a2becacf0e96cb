"""Kills trainings at random moments, and holds what their journals say against what they printed.

`python -m benchmarks.proof.kills [--kills 50] [--seed 1]`: each run prints the loss of each step.
It ends by SIGKILL, SIGTERM or SIGINT from outside, or by os._exit or an exception at a random step.
The status must be that of plain Python, and each loss of the journal or report the one printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
import os, sys, time
import torch
from torch import nn
torch.manual_seed(0)
end, at = sys.argv[1], int(sys.argv[2])

def show(step, loss):
    os.write(1, f"{step} {loss.item()!r}\\n".encode())
    if step == at and end == "os._exit":
        os._exit(7)
    if step == at and end == "exception":
        raise ValueError("of the script")
"""
TRAININGS = {
    "perceptron": """
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(10**9):
    loss = net(torch.randn(16, 8)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step(); show(step, loss)
""",
    "cnn": """
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                    nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
for step in range(10**9):
    out = net(torch.randn(8, 3, 16, 16))
    loss = nn.functional.cross_entropy(out, torch.randint(10, (8,)))
    optimizer.zero_grad(); loss.backward(); optimizer.step(); show(step, loss)
""",
    "transformer": """
net = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoderLayer(32, 4, 64, batch_first=True),
                    nn.Linear(32, 50))
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(10**9):
    words = torch.randint(50, (4, 12))
    loss = nn.functional.cross_entropy(net(words).flatten(0, 1), words.roll(-1, 1).flatten())
    optimizer.zero_grad(); loss.backward(); optimizer.step(); show(step, loss)
""",
    "slow steps": """
net = nn.LSTM(8, 16)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(10**9):
    loss = net(torch.randn(20, 4, 8))[0].square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step(); time.sleep(0.05); show(step, loss)
""",
}
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
ENDS = (*SIGNALS, "SIGKILL", "os._exit", "exception")


def start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    files = {"stdout": (folder / "out").open("w"), "stderr": (folder / "err").open("w")}
    return subprocess.Popen([sys.executable, *command], cwd=folder, env=env, text=True, **files)


def ended(process: subprocess.Popen[str], end: str, after: float, folder: Path) -> int:
    """The status of a process, which a signal ends so many seconds after its first step."""
    if end in SIGNALS:
        until = time.monotonic() + 60
        while not (folder / "out").stat().st_size and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(after)
        process.send_signal(SIGNALS[end])
    return process.wait(120)


def losses(folder: Path) -> dict[int, float]:
    lines = (folder / "out").read_text().splitlines(keepends=True)
    rows = [line.split() for line in lines if line.endswith("\n")]
    return {int(step): float(loss) for step, loss in rows}


def plain_status(end: str, folder: Path) -> int:
    """The status of plain Python for this end, at the first step."""
    return ended(start(["train.py", end, "0"], folder), end, 0.1, folder)


def problem(end: str, status: int, plain: int, folder: Path, after: float) -> str:
    """What is wrong with a run that has ended; "" if nothing is."""
    if status != plain:
        return f"status {status}, plain Python gives {plain}"
    shown = subprocess.run(
        [sys.executable, "-m", "hookcli", "render", "run.json", "-f", "json"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    if shown.returncode:
        return f"render: {shown.stderr.strip()}"
    report = json.loads(shown.stdout)
    true = losses(folder)
    rows = report["records"][0]["training"]["steps"] if report["records"] else []
    wrong = [
        row["step"] for row in rows if row["step"] in true and row["loss"] != true[row["step"]]
    ]
    if wrong:
        return f"another loss in the steps {wrong[:5]}"
    last = max((row["step"] for row in rows), default=-1)
    beyond = [row["step"] for row in rows if row["step"] > max(true) + 1]
    if beyond:
        return f"steps that did not run: {beyond[:5]}"
    if last < 2 and len(true) > 4:
        return f"{len(true)} steps ran, the last one that is known is {last}"
    return "" if report["diagnoses"] is not None or last < 0 else "it was not judged"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    chance = random.Random(flags.seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    failures, counts, plain = [], Counter(), {}
    for number in range(flags.kills):
        name, end = chance.choice([*TRAININGS]), ENDS[number % len(ENDS)]
        after, at = chance.uniform(0, 4), chance.randrange(1, 60)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "train.py").write_text(HEAD + TRAININGS[name])
            if end not in plain:
                plain[end] = plain_status(end, folder)
            command = ["-m", "hookcli", "run", "-q", "-o", "run.json", "train.py", end, str(at)]
            status = ended(start(command, folder), end, after, folder)
            why = problem(end, status, plain[end], folder, after)
        counts[end] += 1
        print(f"{number + 1:4} {name:12} {end:10} {why or 'ok'}", flush=True)
        if why:
            failures.append(f"{name}, {end} after {after:.2f} s or at step {at}: {why}")
    ends = ", ".join(f"{count} by {end}" for end, count in counts.items())
    print(f"{flags.kills} runs ({ends}): {len(failures)} wrong")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
