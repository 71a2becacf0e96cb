"""What is left of a training that was ended, beside what the script has printed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.proof.kills.ends import DISK_FULL, HOOKCLI, Kill, Place, environment

FLUSH = 1.0  # seconds of the last steps that a journal may lack: hookcli's own promise
RETRY = 10.0  # seconds until hookcli tries again to write on a disk that was full
_CLOSE = 1e-5  # the norms are summed in float32 by PyTorch, in float64 by hookcli
_OF_SCRIPT = {"filler", "last.pt", "new.pt", "results", "train.py", "temporary"}
_EMPTY = ("has no entry of a training", "No such file", "does not exist", "not found")


@dataclass(frozen=True)
class Printed:
    """What the script has printed: (loss, lr, norm, time) by record and step."""

    steps: dict[str, dict[int, tuple[float, float, float | None, float]]]
    full: float | None  # the time at which the disk was full

    @classmethod
    def read(cls, text: str) -> Printed:
        steps: dict[str, dict[int, tuple[float, float, float | None, float]]] = {}
        full = None
        for line in text.splitlines(keepends=True):
            words = line.split()
            if not line.endswith("\n") or words[0] == "pid":
                continue
            if words[0] == "full":
                full = float(words[1])
                continue
            loss, lr, norm, at = (None if word == "None" else float(word) for word in words[2:])
            steps.setdefault(words[0], {})[int(words[1])] = (loss, lr, norm, at)  # type: ignore
        return cls(steps, full)

    def count(self) -> int:
        return sum(map(len, self.steps.values()))


@dataclass
class Found:
    """What is wrong with a run, and what it has left."""

    problems: list[str] = field(default_factory=list)
    left: str = "nothing"  # or journal, report
    printed: int = 0
    recorded: int = 0
    figures: int = 0  # that were compared
    behind: float = 0.0  # seconds between the first step that is missing and the last one


def judge(kill: Kill, status: int, place: Place) -> Found:
    """Compare what is left of a run with what it has printed."""
    printed = Printed.read(place.out.read_text())
    found = Found(printed=printed.count())
    _judge_stderr(kill, place.err.read_text(), found)
    _judge_files(kill, place, found)
    _judge_report(kill, status, place, place.work / "run.json", printed, found)
    for file in place.temporary.glob("hookcli-run-*.json"):
        found.left = "report in the folder for temporary files"
        _judge_report(kill, status, place, file, printed, found)
    return found


def _judge_stderr(kill: Kill, text: str, found: Found) -> None:
    for line in text.splitlines():
        is_told = kill.end == "no memory left" and "MemoryError" in line  # for hookcli neither
        if "training goes on" in line and "Error:" in line and not is_told:
            found.problems.append(f"stderr: {line}")
        if re.match(r'\s*File ".*/hookcli/.*, line \d+, in', line):
            found.problems.append(f"a traceback of hookcli: {line.strip()}")


def _judge_files(kill: Kill, place: Place, found: Found) -> None:
    """What may be left are the script's files, and the report or the journal."""
    names = {path.name for path in place.work.iterdir()} - _OF_SCRIPT
    if "run.json" in names:
        found.left = "report"
    elif "run.json.journal" in names:
        found.left = "journal"
    if {"run.json", "run.json.journal"} <= names:
        found.problems.append("both a report and a journal")
    if names - {"run.json", "run.json.journal"}:
        found.problems.append(f"files are left: {sorted(names)}")
    temporary = {path.name for path in place.temporary.iterdir()}
    of_others = ("pymp-", "torchinductor_")  # Python and torch leave them
    kept = ("hookcli-run-",) if kill.end in DISK_FULL else ()  # a note names it
    temporary = {name for name in temporary if not name.startswith((*of_others, *kept))}
    if temporary:
        found.problems.append(f"temporary files are left: {sorted(temporary)}")


def _judge_report(
    kill: Kill, status: int, place: Place, file: Path, printed: Printed, found: Found
) -> None:
    report = _rendered(place, file, printed, found)
    if report is None:
        return
    trainings = {record["training"]["record"]: record["training"] for record in report["records"]}
    for training in trainings.values():
        _judge_rows(training, printed, found)
    _judge_end(kill, status, report, found)
    is_whole = report["script"]["status"] is not None and not any(
        "ended before its report" in warning for warning in report["warnings"]
    )
    for name, steps in printed.steps.items():
        total = trainings[name]["total"] if name in trainings else 0
        _judge_last(total, name, steps, printed, found, is_whole=is_whole)
    recorded = sum(len(training["steps"]) for training in trainings.values())
    found.recorded = max(found.recorded, recorded)


def _rendered(place: Place, file: Path, printed: Printed, found: Found) -> dict[str, Any] | None:
    """Return the report that `hookcli render` makes; None if there is none to be expected."""
    shown, text = place.output / "shown.json", place.output / "shown.txt"
    env = environment(place, "render") | {"TMPDIR": str(place.output)}
    files = ["-f", f"json={shown}", "-f", f"table={text}"]
    done = subprocess.run(
        [sys.executable, *HOOKCLI, "render", str(file), *files], cwd=place.work,
        env=env, capture_output=True, text=True,
    )  # fmt: skip
    if "Traceback" in done.stderr:
        found.problems.append(f"render: {done.stderr.strip()[-300:]}")
    if not done.returncode and not done.stderr.startswith("error"):
        if not text.read_text().strip():
            found.problems.append("render: the text is empty")
        report: dict[str, Any] = json.loads(shown.read_text())
        return report
    if printed.count() < 2 and any(words in done.stderr for words in _EMPTY):
        return None  # nothing was observed so far
    found.problems.append(f"render: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return None


def _judge_rows(training: dict[str, Any], printed: Printed, found: Found) -> None:
    """Each figure of each step is the one that was printed."""
    name = training["record"]
    true = printed.steps.get(name, {})
    last = max(true, default=-1)
    wrong = []
    if len({row["step"] for row in training["steps"]}) != len(training["steps"]):
        found.problems.append(f"{name}: a step is there twice")
    for row in training["steps"]:
        step = row["step"]
        if step not in true:
            if step != last + 1:  # else it has ended, and was not printed
                found.problems.append(f"{name}: step {step} did not run, the last one is {last}")
            continue
        loss, lr, norm, _ = true[step]
        if row["loss"] != loss:
            wrong.append(f"step {step}: loss {row['loss']}, printed {loss}")
        if row["lr"] != lr:
            wrong.append(f"step {step}: lr {row['lr']}, printed {lr}")
        found.figures += 2
        if norm is not None:
            found.figures += 1
            if row["grad_norm"] is None or not math.isclose(row["grad_norm"], norm, rel_tol=_CLOSE):
                wrong.append(f"step {step}: norm {row['grad_norm']}, printed {norm}")
    lost = training["total"] - len(training["steps"]) - training.get("unwatched", 0)
    if training["every"] == 1 and lost:
        found.problems.append(f"{name}: {lost} steps in the middle are missing")
    if training["total"] > last + 2:
        found.problems.append(f"{name}: {training['total']} steps, the last printed is {last}")
    found.problems += [f"{name}: {line}" for line in wrong[:3]]


def _judge_end(kill: Kill, status: int, report: dict[str, Any], found: Found) -> None:
    """A report of a script whose end is known tells this end."""
    told = report["script"]["status"]
    expected = status if status >= 0 else 128 - status
    if told is not None and told != expected and "SIGKILL" not in kill.end:
        found.problems.append(f"the report has the exit status {told}, it was {expected}")
    if found.left == "report" and told is None:
        found.problems.append("the report has no exit status")


def _judge_last(
    total: int, name: str, steps: dict[int, Any], printed: Printed, found: Found, *, is_whole: bool
) -> None:
    """Only steps of the last second may be missing, and none if the script could report its end."""
    missing = [step for step in steps if step >= total]
    if is_whole and missing:
        found.problems.append(f"{name}: steps are missing in the report: {missing[:3]}")
    if is_whole or not missing:
        return
    times = [steps[step][3] for step in sorted(steps)]
    longest = max((b - a for a, b in pairwise(times)), default=0.0)
    first, last = steps[missing[0]][3], times[-1]
    if printed.full is not None:  # nothing can be written since then
        last = min(last, printed.full)
    behind = round(last - first, 3)
    found.behind = max(found.behind, behind)
    allowed = FLUSH + 3 * longest
    if behind > allowed:
        found.problems.append(f"{name}: {behind} s are missing, allowed are {allowed:.2f}")
