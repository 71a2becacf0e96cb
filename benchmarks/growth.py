"""Time and memory for each additional module, event, parameter, level, step and megabyte.

`python -m benchmarks.growth [--full] [--only NAME] [--rounds N]` prints the section. `--full`
measures the largest sizes, ten times those of `make bench`.

A quantity is measured at N/16, N/4 and N, in a process of its own each. The cost of a unit is a
slope, so that what every run costs is left out: (cost(N) - cost(N/4)) / (N - N/4) at the large end,
and (cost(N/4) - cost(N/16)) / (N/4 - N/16) at the small end. The ratio of the two slopes is 1 if
the cost grows linearly, and 4 if it grows with the square. Time is processor time, of all
processes. Memory is the peak of the largest process. A difference below what can be measured
(`TIME`, `MEMORY`) counts as that much.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median

from benchmarks.run_cost import KINDS, train
from benchmarks.section import Figure, Section, Table
from benchmarks.timing import HOOKCLI, ROOT, CommandFailedError, last_words

LIMIT = 1.25
TIME, MEMORY = 0.2, 8e6  # seconds, bytes: the least difference between two runs that is measurable
HOW = """\
Each quantity is measured at N/16, N/4 and N, each run in a process of its own. *Per unit* is a
slope, which leaves out what every run costs: the difference of two runs divided by the difference
of their sizes, for N/16 to N/4 and for N/4 to N. The ratio of the two is 1 if the cost is linear,
and 4 if it grows with the square. Time is processor time of all processes; memory is the peak of
the largest process. A difference below 0.2 s or 8 MB counts as this much. `render` reads a `trace`
report of N bytes. Steps are measured in one run: its last four tenths relative to the second to
sixth. `python -m benchmarks.growth --full` measures ten times the sizes."""
# The peak of a process counts that of the process which started it: a small one starts it.
START = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
sys.exit(status)
"""


@dataclass(frozen=True)
class Cost:
    """Processor time in seconds, and the peak of memory in bytes."""

    seconds: float
    bytes: float


@dataclass(frozen=True)
class Point:
    """What `size` units cost."""

    size: float
    cost: Cost


@dataclass(frozen=True)
class Slopes:
    """The cost of a unit from the small to the middle size, and from there to the large one."""

    size: float
    small: Cost
    large: Cost

    @property
    def time(self) -> float:
        return self.large.seconds / self.small.seconds

    @property
    def memory(self) -> float:
        return self.large.bytes / self.small.bytes


def slopes(small: Point, middle: Point, large: Point) -> Slopes:
    return Slopes(large.size, _slope(small, middle), _slope(middle, large))


def _slope(less: Point, more: Point) -> Cost:
    units = more.size - less.size
    seconds = max(more.cost.seconds - less.cost.seconds, TIME)
    return Cost(seconds / units, max(more.cost.bytes - less.cost.bytes, MEMORY) / units)


def run(argv: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command once."""
    given = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-I", "-S", "-c", START, *argv]
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True)
    if done.returncode:
        words = last_words(done.stderr)
        raise CommandFailedError(f"{argv[1]}: status {done.returncode}: {words}")
    seconds, size = done.stdout.split()
    return Cost(float(seconds), float(size))


@dataclass(frozen=True)
class Quantity:
    """What grows: `size` units with `--full`. `prepare` writes the files of a size to a folder.

    In `argv`, `{size}` is the size and `{folder}` the folder.
    """

    name: str
    unit: str
    size: int
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[int, Path], None] | None = None

    def measure(self, size: int, rounds: int) -> Slopes:
        """Measure three sizes in turns, the largest once."""
        sizes = size // 16, size // 4, size
        with tempfile.TemporaryDirectory() as name:
            folders = {one: Path(name, str(one)) for one in sizes}
            for one, folder in folders.items():
                folder.mkdir()
                if self.prepare is not None:
                    self.prepare(one, folder)
            costs: dict[int, list[Cost]] = {one: [] for one in sizes}
            for number in range(rounds):
                for one in sizes if number == 0 else sizes[:-1]:
                    costs[one].append(self._run(one, folders[one]))
        return slopes(*(Point(one, _middle(costs[one])) for one in sizes))

    def _run(self, size: int, folder: Path) -> Cost:
        values = {"size": str(size), "folder": str(folder)}
        argv = [part.format_map(values) for part in self.argv]
        cost = run(argv, {key: text.format_map(values) for key, text in self.environment.items()})
        print(
            f"  {self.name} {size:,}: {cost.seconds:.1f} s, {cost.bytes / 1e6:.0f} MB", flush=True
        )
        return cost


def _middle(costs: Sequence[Cost]) -> Cost:
    return Cost(median(one.seconds for one in costs), median(one.bytes for one in costs))


_SEQ = re.compile(r'("seq": )(\d+)')
CHAIN = "benchmarks/models/chain.py"


def repeat_events(report: str, size: int) -> Iterator[str]:
    """Yield the text of a report, with its events repeated until it has about `size` characters.

    Each event has a number of its own, as those of a run with many steps have.
    """
    start = report.index('  "events": [\n') + len('  "events": [\n')
    end = report.index("\n  ],", start)
    rows = [row.rstrip(",") for row in report[start:end].split("\n")]
    yield report[:start]
    left = max(size - len(report), 0)
    number = 0
    while number < len(rows) or left > 0:
        row = _SEQ.sub(lambda m, n=number: f"{m[1]}{n}", rows[number % len(rows)], count=1)
        if number >= len(rows):
            left -= len(row) + 2
        yield (",\n" if number else "") + row
        number += 1
    yield report[end:]


@cache
def _traced() -> str:
    """Return a `trace` report with about 2,000 events, and with times, for the timeline."""
    with tempfile.TemporaryDirectory() as folder:
        base, timeline = Path(folder, "base.json"), Path(folder, "timeline.json")
        formats = ("-f", f"json={base}", "-f", f"perfetto={timeline}")
        run((HOOKCLI, "trace", "-q", CHAIN, *formats), {"BENCH_MODULES": "400"})
        return base.read_text()


def write_report(size: int, folder: Path, name: str = "report.json") -> None:
    """Write a `trace` report with `size` bytes: that of a small model with many steps."""
    with Path(folder, name).open("w") as file:
        file.writelines(repeat_events(_traced(), size))


def write_two_reports(size: int, folder: Path) -> None:
    write_report(size // 2, folder, "a.json")
    write_report(size // 2, folder, "b.json")


MODULES = {"BENCH_MODULES": "{size}"}
HUNDRED = {"BENCH_MODULES": "100"}
LONG = ("--timeout", "20000")
CHECK = (HOOKCLI, "check", "-q", *LONG, "--fail-on", "never", CHAIN)
FORMATS = (
    "json", "table", "tree", "markdown", "html", "svg", "junit", "sarif", "github", "perfetto",
)  # fmt: skip
MEGABYTE = 1_000_000
# 100 layers have about 500 events in a step.
QUANTITIES = (
    Quantity("inspect", "module", 100_000, (HOOKCLI, "inspect", "-q", *LONG, CHAIN), MODULES),
    # A module has two parameters. `grads` has statistics of each parameter and of its gradient.
    Quantity("grads", "module", 25_000, (HOOKCLI, "grads", "-q", *LONG, CHAIN), MODULES),
    Quantity("check", "module", 25_000, CHECK, MODULES),
    Quantity(
        "trace -f json",
        "step of 500 events",
        2_000,
        (HOOKCLI, "trace", "-q", *LONG, CHAIN, "--steps", "{size}", "-f", "json"),
        HUNDRED,
    ),
    Quantity(
        "trace --stream",
        "step of 500 events",
        2_000,
        (HOOKCLI, "trace", "-q", *LONG, CHAIN, "--steps", "{size}", "--stream", "{folder}/events"),
        HUNDRED,
    ),
    Quantity(
        "nested results",
        "level of 20 results",
        1_000,
        (HOOKCLI, "grads", "-q", *LONG, "benchmarks/models/deep.py"),
        {"BENCH_LEVELS": "{size}"},
    ),
    Quantity(
        "diff",
        "byte",
        500 * MEGABYTE,
        (HOOKCLI, "diff", "-q", "{folder}/a.json", "{folder}/b.json"),
        prepare=write_two_reports,
    ),
    *(
        Quantity(
            f"render -f {name}",
            "byte",
            500 * MEGABYTE,
            (HOOKCLI, "render", "-q", "{folder}/report.json", "-f", name),
            prepare=write_report,
        )
        for name in FORMATS
    ),
)  # fmt: skip
STEPS = 10_000


def attached(steps: int) -> list[tuple[float, int]]:
    """Return the processor time and the memory after each tenth of a loop with `attach`."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "times.json")
        argv = (sys.executable, "-m", "benchmarks.peers.attached", str(steps))
        run(argv, {"BENCH_TIMES": str(told), "PYTHONPATH": str(ROOT)})
        return [(seconds, size) for seconds, size in json.loads(told.read_text())["parts"]]


LOOPS: dict[str, Callable[[int], Sequence[tuple[float, int]]]] = {
    "attach": attached,
    "hookcli run": lambda steps: train(KINDS["run"], "tiny", steps).parts,
}


def of_loop(parts: Sequence[tuple[float, int]], steps: int) -> Slopes:
    """Return the slopes of a loop: the second to the sixth tenth are small, the last four large."""
    ends = (2, 6, 10)
    points = (Point(end * steps / 10, Cost(*parts[end - 1])) for end in ends)
    return slopes(*points)


def row(name: str, unit: str, found: Slopes) -> tuple[str, ...]:
    return (
        f"`{name}`",
        unit,
        f"{found.size:,.0f}",
        f"{found.small.seconds * 1e6:.3g}",
        f"{found.large.seconds * 1e6:.3g}",
        f"{found.time:.2f}",
        f"{found.small.bytes:,.3g}" if found.small.bytes < 100 else f"{found.small.bytes:,.0f}",
        f"{found.large.bytes:,.3g}" if found.large.bytes < 100 else f"{found.large.bytes:,.0f}",
        f"{found.memory:.2f}",
        "held" if max(found.time, found.memory) <= LIMIT else "**missed**",
    )


HEADER = (
    "", "unit", "N", "µs per unit, small", "large", "ratio", "bytes per unit, small", "large",
    "ratio", f"≤ {LIMIT}",
)  # fmt: skip


def measure(rounds: int, part: int = 10, only: Sequence[str] = ()) -> Section:
    """Measure the quantities, with the sizes divided by `part`; loops always have all steps."""
    names = only or [*(one.name for one in QUANTITIES), *LOOPS]
    rows, figures = [], []
    for one in QUANTITIES:
        if one.name in names:
            found = one.measure(one.size // part, rounds)
            rows.append(row(one.name, one.unit, found))
            figures += _figures(one.name, one.unit, found)
    for name, loop in LOOPS.items():
        if name in names:
            found = of_loop(loop(STEPS), STEPS)
            rows.append(row(name, "step", found))
            figures += _figures(name, "step", found)
    return Section("Long and large", HOW, (Table(HEADER, tuple(rows)),), tuple(figures))


def _figures(name: str, unit: str, found: Slopes) -> list[Figure]:
    label = f"`{name}`, {found.size:,.0f} × {unit}"
    return [
        Figure(f"{label}: time per unit, relative to a quarter of it", found.time, LIMIT),
        Figure(f"{label}: memory per unit, relative to a quarter of it", found.memory, LIMIT),
    ]


def main() -> None:
    from benchmarks.write import section

    names = [*(one.name for one in QUANTITIES), *LOOPS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="measure the largest sizes")
    parser.add_argument("--part", type=int, default=10, help="divide the largest sizes by this")
    parser.add_argument("--only", action="append", choices=names)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    part = 1 if given.full else given.part
    print(section(measure(given.rounds, part, given.only or ())))


if __name__ == "__main__":
    main()
