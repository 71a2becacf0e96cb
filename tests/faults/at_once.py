"""`python -m tests.faults.at_once --runs 20`: many commands at once in one folder.

Each case starts all commands as a user does, waits for them, and checks their statuses, that each
output is whole, that nothing else is in the folder or in TMPDIR, and that no process is left. The
command prints a line for each case, and the status is 1 if one was wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.commands import FILES, is_whole
from tests.faults.signals import HOOKCLI, MARK, left_over, listing

PARTS = ("inputs", "outputs")
_PATIENCE = 600.0  # seconds for all commands of a case


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of the run with a number, and the files that all runs together write."""

    arguments: Callable[[int], tuple[str, ...]]
    writes: Callable[[int], set[str]]
    statuses: frozenset[int] = frozenset({0})


SAVED = ("a.json", "b.json", *(f"{side}.{part}.safetensors" for side in "ab" for part in PARTS))
CASES = {
    "own outputs": Case(
        lambda i: ("grads", "model.py", "-f", f"json=out{i}.json"),
        lambda runs: {f"out{i}.json" for i in range(runs)},
    ),
    "one output": Case(
        lambda i: ("inspect", "model.py", "-o", "out.json", "-f", "json", "--seed", f"{i}"),
        lambda _: {"out.json"},
    ),
    "one baseline": Case(
        lambda _: ("check", "model.py", "--baseline", "known.json", "--update-baseline"),
        lambda _: {"known.json"},
    ),
    "one script": Case(
        lambda i: ("run", "-f", f"json=run{i}.json", "train.py"),
        lambda runs: {f"run{i}.json" for i in range(runs)},
    ),
    "one diff folder": Case(
        lambda _: ("diff", "model.py", "other.py", "--save", "both"),
        lambda _: {f"both/{file}" for file in SAVED},
        frozenset({1}),
    ),
    "ranks": Case(
        lambda i: ("grads", "model.py", "--nproc", "2", "-f", f"json=out{i}.json"),
        lambda runs: {f"out{i}{rank}.json" for i in range(runs) for rank in ("", ".rank1")},
    ),
}  # fmt: skip


@dataclass(slots=True)
class Outcome:
    """What was wrong with a case, and how long it took in seconds."""

    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


def all_at_once(case: Case, runs: int) -> Outcome:
    """Run the commands of a case in one folder, and look at what they leave."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        folder, temporary = Path(place) / "work", Path(place) / "tmp"
        folder.mkdir()
        temporary.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text)
        before = listing(folder)
        mark = uuid.uuid4().hex
        env = {**os.environ, MARK: mark, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
        started = time.monotonic()
        processes = [
            subprocess.Popen(
                [*HOOKCLI, *case.arguments(i)], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            for i in range(runs)
        ]  # fmt: skip
        for i, process in enumerate(processes):
            _, err = process.communicate(timeout=_PATIENCE)
            if process.returncode not in case.statuses:
                outcome.problems.append(f"run {i}: status {process.returncode}: {err[-300:]!r}")
        outcome.seconds = time.monotonic() - started
        outcome.problems += _left(case, runs, folder, before)
        outcome.problems += [
            f"left in TMPDIR: {file.name}"
            for file in temporary.iterdir()
            if not file.name.startswith("torchinductor_")  # torch makes it when it is imported
        ]
        outcome.problems += [f"process {pid} is left" for pid in left_over(mark)]
    return outcome


def _left(case: Case, runs: int, folder: Path, before: dict[str, str]) -> list[str]:
    after = listing(folder)
    problems = [f"{name} was changed" for name in before if after.get(name) != before[name]]
    expected, new = case.writes(runs), after.keys() - before.keys()
    problems += [f"{name} is missing" for name in sorted(expected - new)]
    problems += [f"{name} is left" for name in sorted(new - expected)]
    problems += [f"{name} is not whole" for name in sorted(new) if not is_whole(folder / name)]
    return problems


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.at_once", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="commands at once")
    parser.add_argument("--case", choices=sorted(CASES))
    options = parser.parse_args()
    wrong = 0
    for name in [options.case] if options.case else CASES:
        outcome = all_at_once(CASES[name], options.runs)
        wrong += bool(outcome.problems)
        print(f"{name:<16} {options.runs:>3} runs {outcome.seconds:>7.1f} s "
              f"{len(outcome.problems)} wrong", flush=True)  # fmt: skip
        print("".join(f"  {problem}\n" for problem in outcome.problems), end="")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
