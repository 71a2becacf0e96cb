"""`python -m tests.faults.signals --runs 500 --seed 1`: end commands at random moments.

Each run starts a command as a user does, in a folder of its own, sends a signal to it after a
random time, and checks what is left: the status, a report that is whole or absent, the folder of
the model, temporary files, and processes. The command prints a table, and the status is 1 if a run
was wrong.
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
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import two_signals
from tests.faults.process_marks import HOOKCLI, MARK, PATIENCE, left_over, listing, torchs_own

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
ENDED = {  # statuses of a command that a signal ended
    signal.SIGINT: {130, -signal.SIGINT},
    signal.SIGTERM: {143, -signal.SIGTERM},
    signal.SIGHUP: {129, -signal.SIGHUP},
    signal.SIGKILL: {-signal.SIGKILL},
}
MODEL = """\
import os, time
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(8, 8) for _ in range(6)))

    def forward(self, x):
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(0.2)
        return self.layers(x)

def build_model():
    time.sleep(0.1)
    return Net()

def example_inputs():
    return (torch.randn(2, 8),)
"""
SCRIPT = """\
import time
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
"""
COMMANDS = {
    "inspect": ("inspect", "model.py", "-f", "json=out.json"),
    "grads": ("grads", "model.py", "-f", "json=out.json", "-f", "table"),
    "check": ("check", "model.py", "-f", "html=out.html", "-f", "json=out.json"),
    "diff": ("diff", "model.py", "model.py", "-f", "json=out.json"),
    "ranks": ("grads", "model.py", "--nproc", "2", "-f", "json=out.json"),
    "run": ("run", "-f", "json=out.json", "train.py"),
}
LONGEST = {"ranks": 14.0}  # seconds in which a signal is sent
_USUAL = 7.0


@dataclass
class Outcome:
    """One run: what was done, how it ended, and what was wrong."""

    number: int
    command: str
    signum: int
    delay: float
    status: int | None = None
    problems: list[str] = field(default_factory=list)


def one(seed: int, number: int, name: str | None) -> Outcome:
    """Run one command, end it, and look at what is left."""
    chance = random.Random(f"{seed} {number}")
    command = name or chance.choice(sorted(COMMANDS))
    signum = chance.choice(SIGNALS)
    outcome = Outcome(number, command, signum, chance.uniform(0, LONGEST.get(command, _USUAL)))
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        folder, temporary = Path(place) / "work", Path(place) / "tmp"
        folder.mkdir()
        temporary.mkdir()
        (folder / "model.py").write_text(MODEL)
        (folder / "train.py").write_text(SCRIPT)
        before = listing(folder)
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            [*HOOKCLI, *COMMANDS[command]], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, MARK: mark, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=outcome.delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signum)
            out, err = process.communicate(timeout=PATIENCE * 2)
        outcome.status = process.returncode
        judge(outcome, folder, before, out, err)
        for pid in left_over(mark):
            outcome.problems.append(f"process {pid} is left")
            os.kill(pid, signal.SIGKILL)
        left = sorted(file.name for file in temporary.iterdir() if not torchs_own(file))
        if left and signum != signal.SIGKILL:  # who is killed cannot clean up
            outcome.problems.append(f"left in TMPDIR: {left}")
    return outcome


def judge(outcome: Outcome, folder: Path, before: dict[str, str], out: bytes, err: bytes) -> None:
    """Add what is wrong with the status, the outputs and the folder."""
    finished = {0, 1}
    if pythons_own(outcome, err):
        outcome.status, err = signal.SIGINT + 128, b""
    if outcome.status not in ENDED[signal.Signals(outcome.signum)] | finished:
        outcome.problems.append(f"status {outcome.status}: {err[-300:]!r}")
    if b"Traceback" in err and outcome.command != "run":
        outcome.problems.append(f"a traceback: {err[-300:]!r}")
    after = listing(folder)
    new = {name for name in after if name not in before}
    for name in before:
        if after.get(name) != before[name]:
            outcome.problems.append(f"{name} was changed")
    outputs = {"out.json", "out.html", *(["out.rank1.json"] if outcome.command == "ranks" else [])}
    for name in new - outputs:
        outcome.problems.append(f"{name} is left in the folder")
    for name in new - {"out.html"}:
        try:
            json.loads((folder / name).read_text())
        except ValueError:
            outcome.problems.append(f"{name} is not whole")
    if "out.html" in new and not (folder / "out.html").read_text().endswith("</html>\n"):
        outcome.problems.append("out.html is not whole")
    if outcome.status in finished and "out.json" not in new:
        outcome.problems.append("out.json is missing")


def pythons_own(outcome: Outcome, err: bytes) -> bool:
    """Whether Ctrl-C ended Python before it ran hookcli: it prints a traceback, with status 1."""
    early = outcome.status == 1 and b"KeyboardInterrupt" in err
    return early and outcome.signum == signal.SIGINT and b"/hookcli/" not in err


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.signals", description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--command", choices=sorted(COMMANDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--twice", action="store_true", help="two signals, to `hookcli run`")
    options = parser.parse_args()
    for signum in SIGNALS[:-1]:  # commands inherit what a job in the background ignores
        if signal.getsignal(signum) == signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)
    numbers = range(options.first, options.first + options.runs)
    if options.twice:
        return _twice(options.seed, numbers, options.jobs)
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda n: one(options.seed, n, options.command), numbers):
            name = signal.Signals(outcome.signum).name
            ended = "ended" if outcome.status not in {0, 1} else "finished before"
            counts[f"{outcome.command} {name}", ended] += 1
            if outcome.problems:
                wrong += 1
                print(
                    f"run {outcome.number}: {outcome.command}, {name} after {outcome.delay:.3f} s"
                )
                print("".join(f"  {problem}\n" for problem in outcome.problems), flush=True)
    for (what, ended), count in sorted(counts.items()):
        print(f"{what:<18} {ended:<16} {count:>4}")
    print(f"{len(numbers)} runs, {wrong} wrong")
    return int(wrong > 0)


def _twice(seed: int, numbers: range, jobs: int) -> int:
    counts: Counter[str] = Counter()
    wrong = 0
    with ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(lambda number: two_signals.one(seed, number), numbers):
            kept = "a report" if outcome.has_report else "no report"
            moment = outcome.after or "start"
            counts[f"{moment:<6} status {outcome.status:>4}, {kept}"] += 1
            if outcome.problems:
                wrong += 1
                print(outcome, *outcome.problems, sep="\n  ", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{what:<34} {count:>4}")
    print(f"{len(numbers)} runs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
