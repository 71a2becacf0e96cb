"""Ends trainings at random moments, and holds what their journals say against what they printed.

`python -m benchmarks.proof.kills [--kills 50] [--seed 1] [--rows FILE] [--jobs 1]`: each run prints
the loss, the learning rate and, for most trainings, the gradient norm of each step. The status must
be that of plain Python, `hookcli render` must show what is left, and each figure must be the one
printed. It needs Linux.

With --rows, a run goes on where it was interrupted. --only END and --numbers 3,7 run some again.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.proof.kills.ends import (
    DISK_FULL,
    RUN,
    SIGNALS,
    Kill,
    Place,
    can_mount,
    end_training,
    left_over,
)
from benchmarks.proof.kills.judge import Found, judge

_AGAIN = 12  # further runs of plain Python, if the status is another one
_SIGKILL = -9
APART = {"workers", "checkpoints", "thread and process"}
_plain: dict[tuple[str, str, str], set[int]] = {}
_lock = threading.Lock()


def plain_status(kill: Kill, *, early: bool = False) -> int:
    """Return the status of the same end in plain Python."""
    soon = replace(kill, after=kill.after if early else min(kill.after, 0.3), at=min(kill.at, 5))
    with tempfile.TemporaryDirectory() as folder, Place.make(Path(folder), soon) as place:
        mark = f"{kill.training} {time.monotonic()}"
        status = end_training((), soon, place, mark)
        left_over(mark)  # the workers of a loader end by themselves
    return status


def is_as_plain(kill: Kill, status: int, *, has_begun: bool) -> bool:
    """Return whether plain Python can have this status; each run of it is noted.

    The trainings that start or handle nothing share the runs of plain Python.
    """
    if not has_begun and status == 128 + SIGNALS[kill.end][0]:
        return True  # hookcli's own status, before the script began
    # The second signal may end hookcli while it writes the report of a script that has ended.
    if status == _SIGKILL and ", SIGKILL" in kill.end:
        return True
    known = known_statuses(kill)
    for attempt in range(1 + _AGAIN):
        if status in known:
            return True
        if not (attempt == 0 and known):
            known.add(plain_status(kill, early=kill.is_early))
    return status in known


def known_statuses(kill: Kill) -> set[int]:
    """Return the statuses that plain Python has had for this end."""
    kind = kill.training if kill.training in APART else ""
    with _lock:
        return _plain.setdefault((kind, kill.end, kill.target if kind else ""), set())


def run(kill: Kill, number: int, seed: int) -> dict[str, Any]:
    """Run one training, end it, and return a row of what was found."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Place.make(Path(folder), kill) as place:
        mark = f"{seed} {number} {began}"
        try:
            status = end_training(RUN, kill, place, mark)
        except Exception as error:  # such as a run that does not end
            status, found = 999, Found([f"{type(error).__name__}: {error}"])
        else:
            processes = left_over(mark)
            found = judge(kill, status, place)
            found.problems += [f"a process is left: {line}" for line in processes]
        has_begun = kill.end not in SIGNALS or place.out.stat().st_size > 0
        stderr = place.err.read_text()[-2000:] if found.problems else ""
    if status != 999 and not is_as_plain(kill, status, has_begun=has_begun):
        known = sorted(known_statuses(kill))
        found.problems.append(f"status {status}, plain Python gives {known}")
    seconds = round(time.monotonic() - began, 1)
    row = {"seed": seed, "number": number, **asdict(kill), "status": status, "seconds": seconds}
    return {**row, **asdict(found), **({"stderr": stderr} if stderr else {})}


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """Return tables of the counts by end and by training, and what is wrong."""
    rows = sorted(rows, key=lambda row: row["number"])
    lines = []
    for key in ("end", "training", "left"):
        counts, wrong = Counter(row[key] for row in rows), Counter[str]()
        wrong.update(row[key] for row in rows if row["problems"])
        lines += [f"| {name} | {n} | {wrong[name]} |" for name, n in sorted(counts.items())] + [""]
    figures, steps = sum(row["figures"] for row in rows), sum(row["recorded"] for row in rows)
    most = max((row["behind"] for row in rows), default=0)
    wrong_rows = [row for row in rows if row["problems"]]
    lines.append(f"{len(rows)} runs, {steps} steps, {figures} figures: {len(wrong_rows)} wrong")
    lines.append(f"at most {most} s between the first step that is missing and the last printed")
    for row in wrong_rows:
        where = f"{row['number']} {row['training']}, {row['end']} {row['target']}".rstrip()
        lines.append(f"{where}: {'; '.join(row['problems'][:3])}")
    return "\n".join(lines)


def kills_of(flags: argparse.Namespace) -> dict[int, Kill]:
    """Return what is to be run, by number."""
    kills = {n: Kill.of(flags.seed, n) for n in flags.numbers or range(flags.kills)}
    if not can_mount():
        print("no small disk can be mounted: the ends of a full disk are left out")
        kills = {n: kill for n, kill in kills.items() if kill.end not in DISK_FULL}
    return {n: kill for n, kill in kills.items() if flags.only in (None, kill.end)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--numbers", type=lambda text: [int(n) for n in text.split(",")])
    flags = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as nohup does
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows: list[dict[str, Any]] = []
    if flags.rows and flags.rows.exists():
        rows = [json.loads(line) for line in flags.rows.read_text().splitlines()]
        rows = [row for row in rows if row["seed"] == flags.seed]
    done = {row["number"] for row in rows}

    def one(number: int, kill: Kill) -> None:
        row = run(kill, number, flags.seed)
        what = "; ".join(row["problems"]) or "ok"
        where = f"{number:4} {kill.training:18} {kill.end:30} {kill.target:8}"
        with _lock:
            rows.append(row)
            if flags.rows:
                with flags.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print(f"{where}{row['seconds']:5} s  {what}", flush=True)

    with ThreadPoolExecutor(flags.jobs) as pool:
        left = {n: kill for n, kill in kills_of(flags).items() if n not in done}
        list(pool.map(one, left, left.values()))
    print(summary(rows))
    return any(row["problems"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
