"""`python -m tests.faults.signals --twice`: two signals to `hookcli run`, soon after each other.

The first comes while the process starts, while the script trains, or after its last line, when
hookcli judges and writes the report. The second comes up to 0.1 s later. The script's process must
end as plain Python does, without a traceback of hookcli, and a report must be written unless a
signal that plain Python does not handle has killed the process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.process_marks import HOOKCLI, MARK, PATIENCE, left_over, listing, torchs_own
from tests.forked.inherited import heed_signals

GAPS = (0.0, 0.001, 0.005, 0.02, 0.1)  # seconds between the two
PAIRS = (
    (signal.SIGINT, signal.SIGINT),
    (signal.SIGINT, signal.SIGINT),  # what a person does
    (signal.SIGTERM, signal.SIGINT),
    (signal.SIGHUP, signal.SIGINT),
    (signal.SIGINT, signal.SIGTERM),
)
# The lines after which the first signal comes, and the longest time until then in seconds.
MOMENTS = {"": 4.0, "ready": 1.0, "done": 1.2}
SCRIPT = """\
import atexit
import time
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
print("ready", flush=True)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    time.sleep(0.005)
print("done", flush=True)
"""


@dataclass
class Outcome:
    """One run: when the signals came, how it ended, and what was wrong."""

    number: int
    pair: tuple[int, int]
    after: str
    delay: float
    gap: float
    status: int | None = None
    has_report: bool = False
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a line on what was done."""
        names = " and ".join(signal.Signals(number).name for number in self.pair)
        when = f"{self.delay:.3f} s after {self.after or 'the start'}"
        return f"run {self.number}: {names}, {when}, {self.gap * 1000:g} ms apart"


def one(seed: int, number: int) -> Outcome:
    """Run the script once, send both signals, and look at what is left."""
    chance = random.Random(f"{seed} {number}")
    after = chance.choice(sorted(MOMENTS))
    outcome = Outcome(
        number, chance.choice(PAIRS), after, chance.uniform(0, MOMENTS[after]), chance.choice(GAPS)
    )
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        folder, temporary = Path(place) / "work", Path(place) / "tmp"
        folder.mkdir()
        temporary.mkdir()
        (folder / "train.py").write_text(SCRIPT)
        before = listing(folder)
        mark = uuid.uuid4().hex
        with subprocess.Popen(
            [*HOOKCLI, "run", "-f", "json=out.json", "train.py"], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, MARK: mark, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"},
            preexec_fn=heed_signals,
        ) as process:  # fmt: skip
            out = _interrupt(process, outcome)
            more, err = process.communicate(timeout=PATIENCE * 2)
        outcome.status = process.returncode
        outcome.has_report = (folder / "out.json").exists()
        outcome.problems += _problems(outcome, folder, before, out + more, err)
        for pid in left_over(mark):
            outcome.problems.append(f"process {pid} is left")
            os.kill(pid, signal.SIGKILL)
        left = sorted(file.name for file in temporary.iterdir() if not torchs_own(file))
        if left:
            outcome.problems.append(f"left in TMPDIR: {left}")
    return outcome


def _interrupt(process: subprocess.Popen[str], outcome: Outcome) -> str:
    """Send the signals at their times, and return what the script printed until the first."""
    out = ""
    assert process.stdout is not None
    while outcome.after and outcome.after not in out and (line := process.stdout.readline()):
        out += line
    time.sleep(outcome.delay)
    for number in outcome.pair:
        process.send_signal(number)
        if number is outcome.pair[0]:
            time.sleep(outcome.gap)
    return out


def _problems(outcome: Outcome, folder: Path, before: dict[str, str], out: str, err: str):
    trained, ended = "ready" in out, "done" in out
    killed = {-number for number in outcome.pair}
    allowed = killed | ({0} if ended else set())
    if signal.SIGINT in outcome.pair:  # plain Python's too, after what torch does at its exit
        allowed.add(1)
    if not trained:  # hookcli's own statuses, and what Python has while it starts
        allowed |= {128 - number for number in killed}
    if outcome.status not in allowed:
        yield f"status {outcome.status}: {err[-600:]!r}"
    if "/hookcli/" in err:
        yield f"a traceback of hookcli: {err[-1500:]!r}"
    if trained and set(outcome.pair) == {signal.SIGINT} and not outcome.has_report:
        yield f"no report: {err[-600:]!r}"
    after = listing(folder)
    for name in sorted(before.keys() | after.keys()):
        if name != "out.json" and before.get(name) != after.get(name):
            yield f"{name} was changed, made or removed"
    if outcome.has_report:
        try:
            json.loads((folder / "out.json").read_text())
        except ValueError:
            yield "out.json is not whole"
