"""`python -m tests.fuzz --seed 1 --seconds 600`; with `--case N`, one case again, with its output.

The status is 1 if a case failed. Each failure is written into a folder: its files, its command
line and what was printed, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


def main() -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets must be the same each time
        os.environ.update(PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
        os.execv(sys.executable, [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]])
    return fuzz(sys.argv[1:])


def fuzz(arguments: list[str]) -> int:
    """Run what the command line asks for, in a process with a fixed hash seed."""
    from tests.fuzz import corpus, runner, session

    options = _options(arguments)
    corpus.build()
    session.build_commands()
    runner.prepare()
    with tempfile.TemporaryDirectory(prefix="hookcli-fuzz-") as folder:
        os.umask(0o022)
        if options.case is not None:
            return _repeat(options, Path(folder))
        return _campaign(options, Path(folder))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of all cases")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--case", type=int, help="run only this case, and show its output")
    parser.add_argument("--target", help="only cases of this target")
    parser.add_argument(
        "--jobs", type=int, default=2 * (os.cpu_count() or 1), help="processes; some cases wait"
    )
    parser.add_argument("--failures", type=Path, default=Path("build/fuzz"), help="where to write")
    parser.add_argument("--no-shrink", action="store_true", help="keep failing cases as they are")
    options = parser.parse_args(arguments)
    if options.seconds is None and options.cases is None and options.case is None:
        options.seconds = 60.0
    return options


def _repeat(options: argparse.Namespace, folder: Path) -> int:
    from tests.fuzz import runner
    from tests.fuzz.targets import case

    target, made = case(options.seed, options.case, options.target)
    outcome = runner.run(made, folder / "case")
    print(f"target: {target.name}")
    print(f"command: hookcli {' '.join(map(repr, made.arguments))}")
    print(f"status: {outcome.status}, {outcome.seconds:.2f} s, {outcome.memory >> 20} MiB")
    print(f"stdout:\n{outcome.out[:4000]!s}\nstderr:\n{outcome.err[:8000]!s}".rstrip())
    for failure in outcome.failures:
        print(f"FAILED: {failure.kind}: {failure.detail}")
    if outcome.failures:
        print(f"written: {_written(options, options.case, made, outcome)}")
    return 1 if outcome.failures else 0


# Many cases, in several processes. --------------------------------------------------------------


@dataclass
class Tally:
    """What is known of the cases of a target."""

    cases: int = 0
    seconds: float = 0.0
    memory: int = 0
    statuses: Counter = field(default_factory=Counter)
    failures: Counter = field(default_factory=Counter)
    repeat: dict[str, int] = field(default_factory=dict)


def _campaign(options: argparse.Namespace, folder: Path) -> int:
    started = shown = time.monotonic()
    tallies: dict[str, Tally] = defaultdict(Tally)
    done = _Done(options.first)
    pause = 10 if sys.stdout.isatty() else 60
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for result in _results(options, folder):
            done.add(result["number"])
            _add(options, tallies[result["target"]], result)
            if time.monotonic() - shown > pause:
                shown = time.monotonic()
                count, failed = _totals(tallies)
                rate = count / (shown - started)
                print(f"{shown - started:6.0f} s {count:7d} cases {rate:5.1f}/s {failed} failures")
                sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"interrupted: go on with --first {done.next}")
    _summary(tallies, time.monotonic() - started)
    return 1 if _totals(tallies)[1] else 0


class _Done:
    """The numbers of the cases that ended; all below `next` have."""

    def __init__(self, first: int) -> None:
        self.next = first
        self._later: set[int] = set()

    def add(self, number: int) -> None:
        self._later.add(number)
        while self.next in self._later:
            self._later.remove(self.next)
            self.next += 1


def _add(options: argparse.Namespace, tally: Tally, result: dict) -> None:
    tally.cases += 1
    tally.seconds += result["seconds"]
    tally.memory = max(tally.memory, result["memory"])
    tally.statuses[str(result["status"])] += 1
    for kind in result["failures"]:
        tally.failures[kind] += 1
        if kind not in tally.repeat:
            tally.repeat[kind] = result["number"]
            print(f"FAILED: {result['target']}: {kind}\n  {_command(options, result)}", flush=True)


def _command(options: argparse.Namespace, result: dict) -> str:
    only = f" --target {options.target!r}" if options.target else ""
    return f"python -m tests.fuzz --seed {options.seed} --case {result['number']}{only}"


def _totals(tallies: dict[str, Tally]) -> tuple[int, int]:
    found = tallies.values()
    return sum(one.cases for one in found), sum(sum(one.failures.values()) for one in found)


def _summary(tallies: dict[str, Tally], seconds: float) -> None:
    from tests.fuzz.targets import TARGETS

    form = "{:18} {:>8} {:>8} {:>8} {:>9}  {}"
    print(form.format("target", "cases", "ms each", "MiB", "failures", "statuses"))
    for target in TARGETS:
        if target.name in tallies:
            one = tallies[target.name]
            statuses = ", ".join(f"{k}: {v}" for k, v in sorted(one.statuses.items()))
            each, failed = 1000 * one.seconds / one.cases, sum(one.failures.values())
            memory = one.memory >> 20
            print(form.format(target.name, one.cases, f"{each:.0f}", memory, failed, statuses))
    count, failed = _totals(tallies)
    print(form.format("all", count, "", "", failed, f"{count / seconds:.1f} cases per second"))


def _results(options: argparse.Namespace, folder: Path) -> Iterator[dict]:
    """The results of all cases, of as many processes as --jobs asks for."""
    jobs = max(1, options.jobs)
    reader, writer = os.pipe()
    pids = []
    sys.stdout.flush()
    for job in range(jobs):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(reader)
                _work(options, folder, writer, (job, jobs))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        pids.append(pid)
    os.close(writer)
    try:
        with os.fdopen(reader, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    finally:
        ended = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(ended):
        raise RuntimeError("a process of the harness failed")


def _work(options: argparse.Namespace, folder: Path, writer: int, share: tuple[int, int]) -> None:
    """Run the cases of this process: one of so many."""
    from tests.fuzz import runner
    from tests.fuzz.session import Session
    from tests.fuzz.targets import case

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends, which closes the pipe
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    runner.processes.adopt_orphans()  # a fork does not inherit it
    job, jobs = share
    here = folder / str(job)
    until = math.inf if options.seconds is None else time.monotonic() + options.seconds
    end = sys.maxsize if options.cases is None else options.first + options.cases
    known: set[str] = set()
    commands, checks = Session(), Session()
    for number in range(options.first + job, end, jobs):
        if time.monotonic() > until:
            break
        target, one = case(options.seed, number, options.target)
        session = commands if one.check is None else checks
        alone = one.script or number % _ALONE == _ALONE - 1
        outcome = None if alone else session.run(one, here / "case")
        if outcome is None or not {failure.kind for failure in outcome.failures} <= known:
            outcome = runner.run(one, here / "case")
            if any(failure.kind == "too slow" for failure in outcome.failures):
                outcome = runner.run(one, here / "case")
        kinds = [failure.kind for failure in outcome.failures]
        if set(kinds) - known:
            known |= set(kinds)
            small = (one, outcome)
            if not options.no_shrink and one.check is None:
                small = _smaller(one, outcome, here / "small")
            _written(options, number, *small)
        result = {
            "number": number, "target": target.name, "status": outcome.status,
            "seconds": outcome.seconds, "memory": outcome.memory, "failures": kinds,
        }  # fmt: skip
        try:
            os.write(writer, json.dumps(result).encode() + b"\n")
        except BrokenPipeError:
            break
    commands.end()
    checks.end()


_ALONE = 100  # one case of so many runs in a fork of its own at once


def _smaller(made, outcome, here: Path):
    from tests.fuzz import runner
    from tests.fuzz.shrink import shrunk

    kinds = {failure.kind for failure in outcome.failures}

    def fails(candidate) -> bool:
        return kinds <= {failure.kind for failure in runner.run(candidate, here).failures}

    small = shrunk(made, fails)
    again = runner.run(small, here)
    return (small, again) if again.failures else (made, outcome)


def _written(options: argparse.Namespace, number: int, made, outcome) -> Path:
    """Write a failing case into a folder."""
    folder = options.failures / f"seed-{options.seed}-case-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    lines = [
        "python -m tests.fuzz "
        + f"--seed {options.seed} --case {number}"
        + (f" --target {options.target!r}" if options.target else ""),
        f"hookcli {' '.join(map(repr, made.arguments))}",
        *(f"FAILED: {failure.kind}\n{failure.detail}" for failure in outcome.failures),
        f"stderr:\n{outcome.err[:8000]}",
    ]
    (folder / "FAILURE.txt").write_text("\n".join(lines), errors="replace")
    return folder


if __name__ == "__main__":
    sys.exit(main())
