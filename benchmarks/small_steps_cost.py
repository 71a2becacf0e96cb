"""What `hookcli run` adds to trainings of small steps, where its own work is most of a step."""

from __future__ import annotations

from statistics import median

from benchmarks.run_cost import KINDS, Told, run_script
from benchmarks.section import Figure, Section, Table
from benchmarks.timing import ROOT, CommandFailedError

SCRIPT = str(ROOT / "benchmarks" / "peers" / "small_trainings.py")
HOW = """\
Trainings whose steps take a fraction of a millisecond to a second, on the CPU in one thread: by
`python`, by `hookcli run` with the default steps, and by `hookcli run --steps 0`, in turns. *One
step* is the processor time of the whole loop of the plain script, divided by its steps. The others
are relative to it: *whole loop*, with the steps that are observed in detail, and *between samples*,
the median step."""
LIMIT = 1.15  # of the whole loop, by default; the perceptrons and the GAN have steps of 0.1 ms
STEPS = {
    "sgd": ("perceptron, SGD", 10_000),
    "adam": ("perceptron, Adam", 10_000),
    "gan": ("GAN of perceptrons", 3_000),
    "lbfgs": ("LSTM unrolled over 300 elements, LBFGS", 15),
    "modules": ("1,000 layers", 60),
    "policy": ("50 forwards and one backward pass", 300),
    "acting": ("50 forwards under `no_grad` and one step", 500),
    "evaluation": ("100 forwards under `no_grad`", 300),
}


def rounds_of(kind: str, steps: int, rounds: int) -> dict[str, list[Told]]:
    """Return the runs of a training, which take turns."""
    runs: dict[str, list[Told]] = {name: [] for name in KINDS}
    for _ in range(rounds):
        for name, start in KINDS.items():
            runs[name].append(run_script(start, SCRIPT, kind, steps))
    losses = {one.loop["loss"] for group in runs.values() for one in group}
    if len(losses) != 1:
        raise CommandFailedError(f"{kind}: the losses differ: {', '.join(sorted(losses))}")
    return runs


def relative(runs: dict[str, list[Told]], name: str, figure) -> float:
    """Return the median of a figure relative to the plain script of the same round."""
    pairs = zip(runs[name], runs["plain"], strict=True)
    return median(figure(one.loop) / figure(plain.loop) for one, plain in pairs)


def measure(rounds: int, share: float = 1.0) -> Section:
    """Measure all kinds, each with a share of its steps."""
    rows, figures = [], []
    for kind, (title, most) in STEPS.items():
        steps = max(10, int(most * share))
        runs = rounds_of(kind, steps, rounds)
        whole = {name: relative(runs, name, lambda loop: loop["processor"]) for name in KINDS}
        between = relative(runs, "run, --steps 0", lambda loop: median(loop["steps"]))
        plain = median(one.loop["processor"] / steps for one in runs["plain"])
        row = (
            title,
            f"{steps:,}",
            f"{plain * 1e3:.3f}",
            f"{whole['run']:.2f}",
            f"{whole['run, --steps 0']:.2f}",
            f"{between:.2f}",
        )
        print("  " + ", ".join(row), flush=True)
        rows.append(row)
        figures.append(Figure(f"{title}: `hookcli run`, the loop", whole["run"], LIMIT))
    header = (
        "", "steps", "one step, ms", "whole loop", "whole loop, `--steps 0`",
        "between samples, `--steps 0`",
    )  # fmt: skip
    return Section(
        "`hookcli run` with small steps", HOW, (Table(header, tuple(rows)),), (*figures,)
    )
