"""Runs commands in turns, A B C A B C, so that other work on the machine affects all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.memory import Peak

ROOT = Path(__file__).resolve().parent.parent
HOOKCLI = str(Path(sys.executable).with_name("hookcli"))


@dataclass(frozen=True)
class Command:
    """What to run. It runs at most `rounds` times; `peak` asks for the memory of its processes."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    rounds: int | None = None
    peak: bool = False


@dataclass(frozen=True)
class Run:
    """One run, in seconds: whole process, processor time of all its processes, own work alone.

    `own` is the time that the script measured after its imports; `peak` is in bytes.
    """

    wall: float
    processor: float
    own: float | None = None
    peak: int | None = None


class CommandFailedError(Exception):
    """A command that is timed has failed."""


def run(command: Command) -> Run:
    """Run it once, with its stdout discarded."""
    with tempfile.TemporaryDirectory() as folder:
        told, errors = Path(folder, "times.json"), Path(folder, "errors.txt")
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
        environment |= {"BENCH_TIMES": str(told), **command.environment}
        with errors.open("w") as stderr:
            started = perf_counter()
            child = subprocess.Popen(
                command.argv, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=stderr
            )
            with Peak(child.pid if command.peak else None) as peak:
                _, status, usage = os.wait4(child.pid, 0)
            wall = perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            words = last_words(errors.read_text())
            raise CommandFailedError(f"{command.name}: status {child.returncode}: {words}")
        own = json.loads(told.read_text())["own"] if told.exists() else None
    return Run(wall, usage.ru_utime + usage.ru_stime, own, peak.bytes)


def last_words(text: str) -> str:
    """hookcli's `error:` line, or the last line of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ([line for line in lines if line.startswith("error:")] or lines or ["no output"])[-1]


def alternate(
    commands: Sequence[Command], rounds: int, run: Callable[[Command], Run] = run
) -> dict[str, list[Run]]:
    """Return the runs of each command, which take turns."""
    runs: dict[str, list[Run]] = {command.name: [] for command in commands}
    for number in range(rounds):
        for command in commands:
            if command.rounds is None or number < command.rounds:
                runs[command.name].append(run(command))
                print(f"  {command.name}: {runs[command.name][-1].wall:.2f} s", flush=True)
    return runs


def medians(runs: Sequence[Run]) -> Run:
    """Return the median of each figure; None if no run has it."""

    def middle(values: list) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    return Run(
        wall=median(one.wall for one in runs),
        processor=median(one.processor for one in runs),
        own=middle([one.own for one in runs]),
        peak=middle([one.peak for one in runs]),
    )
