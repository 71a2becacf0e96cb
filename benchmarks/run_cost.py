"""What `hookcli run` adds to a training script: its loop, its memory, its start and its end."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from time import perf_counter

from benchmarks.section import Figure, Section, Table
from benchmarks.timing import HOOKCLI, ROOT, CommandFailedError, last_words

HOW = """\
A ResNet-20 for images of 32×32 pixels (batches of 8) and a GPT of 4 layers of width 128 (batches of
4 × 128 words) are trained on the CPU, in one thread, for {steps} steps: by `python`, by `hookcli
run` with the default steps, and by `hookcli run --steps 0`, in turns. The script measures its loop
itself. *Processor* is the user and system time of the process during the loop. *Between samples* is
the median time of the thread for one step. *Memory* is the most that was resident until the loop
had ended. *Start and end* is the elapsed time of the whole process without the loop. The losses of
all runs are equal."""
TINY = """\
A perceptron is trained for {steps:,} steps. *First* and *last* are the processor time of a tenth of
the steps, and the resident memory after it."""
NAMES = {"cnn": "ResNet-20", "gpt": "small GPT", "tiny": "perceptron"}
SCRIPT = str(ROOT / "benchmarks" / "peers" / "training.py")
KINDS = {
    "plain": (sys.executable,),
    "run": (HOOKCLI, "run", "-q"),
    "run, --steps 0": (HOOKCLI, "run", "-q", "--steps", "0"),
}


@dataclass(frozen=True)
class Training:
    """One run: seconds of the whole process and of its loop, bytes, and the figures of its parts.

    `parts` has the processor time and the resident memory after each tenth of the steps. `report`
    is the size of the report.
    """

    whole: float
    own: float
    processor: float
    step: float | None
    peak: int
    parts: tuple[tuple[float, int], ...]
    loss: str
    report: int


@dataclass(frozen=True)
class Told:
    """What a script told of its loop, the seconds of its process, and the bytes of its report."""

    loop: dict
    whole: float
    report: int


def run_script(start: tuple[str, ...], script: str, kind: str, steps: int) -> Told:
    """Run a script of benchmarks/peers once, in one thread."""
    with tempfile.TemporaryDirectory() as folder:
        told, report = Path(folder, "times.json"), Path(folder, "run.json")
        environment = {**os.environ, "BENCH_TIMES": str(told), "OMP_NUM_THREADS": "1"}
        output = ("-o", str(report)) if "run" in start else ()
        begun = perf_counter()
        command = [*start, *output, script, kind, str(steps)]
        with Popen(command, cwd=folder, env=environment, stderr=PIPE, text=True) as child:
            _, errors = child.communicate()
        whole = perf_counter() - begun
        if child.returncode:
            raise CommandFailedError(f"{kind}: status {child.returncode}: {last_words(errors)}")
        size = report.stat().st_size if report.exists() else 0
        return Told(json.loads(told.read_text()), whole, size)


def train(start: tuple[str, ...], kind: str, steps: int) -> Training:
    """Run the script once."""
    told = run_script(start, SCRIPT, kind, steps)
    found = told.loop
    return Training(
        told.whole,
        found["own"],
        found["processor"],
        median(found["steps"]) if found["steps"] else None,
        found["peak"],
        tuple((used, held) for used, held in found["parts"]),
        found["loss"],
        told.report,
    )


def alternate(kind: str, steps: int, rounds: int) -> dict[str, list[Training]]:
    """Return the runs of each kind, which take turns."""
    runs: dict[str, list[Training]] = {name: [] for name in KINDS}
    for _ in range(rounds):
        for name, start in KINDS.items():
            one = train(start, kind, steps)
            runs[name].append(one)
            print(f"  {kind}, {name}: {one.processor:.2f} s in {one.whole:.1f} s", flush=True)
    losses = {one.loss for group in runs.values() for one in group}
    if len(losses) != 1:
        raise CommandFailedError(f"{kind}: the losses differ: {', '.join(sorted(losses))}")
    return runs


def over(runs: dict[str, list[Training]], name: str, figure: str) -> float:
    """Return the median of a figure relative to the plain script of the same round."""
    pairs = zip(runs[name], runs["plain"], strict=True)
    return median(getattr(one, figure) / getattr(plain, figure) for one, plain in pairs)


def compared(kind: str, runs: dict[str, list[Training]]) -> tuple[Table, list[Figure]]:
    rows = []
    for name, group in runs.items():
        rows.append(
            (
                "`python`" if name == "plain" else f"`hookcli {name.replace(',', '')}`",
                f"{median(one.processor for one in group):.2f}",
                f"{over(runs, name, 'processor'):.3f}",
                f"{over(runs, name, 'own'):.3f}",
                f"{median(one.step or 0 for one in group) * 1e3:.2f}",
                f"{over(runs, name, 'step'):.3f}",
                f"{median(one.peak for one in group) / 1e6:.0f}",
                f"{median(one.whole - one.own for one in group):.2f}",
            )
        )
    header = (
        "", "processor, s", "relative", "elapsed, relative", "between samples, ms", "relative",
        "memory, MB", "start and end, s",
    )  # fmt: skip
    title = NAMES[kind]
    return Table(header, tuple(rows), title), [
        Figure(f"{title}: `hookcli run`, the loop", over(runs, "run", "processor"), 1.03),
        Figure(
            f"{title}: `hookcli run`, between samples", over(runs, "run, --steps 0", "step"), 1.0
        ),
        Figure(f"{title}: `hookcli run`, memory", over(runs, "run", "peak"), 1.02),
    ]


def long_one(steps: int) -> tuple[Table, list[Figure]]:
    """Return what many tiny steps take, and the size of their report."""
    rows = []
    found = {name: train(KINDS[name], "tiny", steps) for name in ("plain", "run")}
    for name, one in found.items():
        used = [used for used, _ in one.parts]
        rows.append(
            (
                "`python`" if name == "plain" else "`hookcli run`",
                f"{used[1] - used[0]:.2f}",
                f"{used[-1] - used[-2]:.2f}",
                f"{one.parts[1][1] / 1e6:.0f}",
                f"{one.parts[-1][1] / 1e6:.0f}",
                f"{one.report / 1e6:.1f}",
            )
        )
    header = ("", "second tenth, s", "last tenth, s", "memory, MB", "at the end, MB", "report, MB")
    title = f"{steps:,} steps"
    ours = found["run"].parts
    flat = (ours[-1][0] - ours[-2][0]) / (ours[1][0] - ours[0][0])
    return Table(header, tuple(rows), title), [
        Figure(f"{title}: report, MB", found["run"].report / 1e6, 50),
        Figure(f"{title}: the last tenth, relative to the second", flat, 1.1),
    ]


def measure(rounds: int, steps: int = 300, tiny: int = 100_000) -> Section:
    tables, figures = [], []
    for kind in ("cnn", "gpt"):
        table, found = compared(kind, alternate(kind, steps, rounds))
        tables.append(table)
        figures += found
    table, found = long_one(tiny)
    how = f"{HOW.format(steps=steps)}\n\n{TINY.format(steps=tiny)}"
    return Section("`hookcli run`", how, (*tables, table), (*figures, *found))
