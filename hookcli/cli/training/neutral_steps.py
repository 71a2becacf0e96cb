"""`hookcli run --compiled MODE --verify-neutral`: the first steps, compared with plain ones.

The script is started twice before the training, with nothing in its compiled code, and is ended
after a few steps. Two runs tell what the script itself does not repeat.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Literal

from hookcli.errors import RequestError
from hookcli.interpreters.start import hookcli_command, run_python
from hookcli.report.files import read_any_report
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.cli.training.script_request import TrainingRequest
    from hookcli.comparison.training.training_diff import FigureDiff, RecordDiff, TrainingDiff
    from hookcli.report.training import TrainingReport

STEPS = 3
_RUNS = 2
_RULE = "neutral"
_WITHOUT = "without hooks in compiled code"
_NAMES = {
    "weight_norm": "the norm of all weights", "weight": "the norm of {name}", "loss": "the loss",
    "gradient": "the norm of the gradient of {name}", "grad_norm": "the norm of all gradients",
    "update_ratio": "the update of {name}", "update_norm": "the norm of all updates",
}  # fmt: skip
_FUSED = (
    "the compiler fuses other operators when hooks are in the graph: train without `--compiled` if "
    "the last digits matter"
)
_ADVICE = {
    "eager-samples": "steps in detail run without the compiler, and round differently: select "
    "fewer of them with `--steps`, or train without `--compiled` if the last digits matter"
}


@dataclass(frozen=True, slots=True)
class PlainSteps:
    """The reports of the first steps without hooks in compiled code, or why there are none."""

    runs: tuple[TrainingReport, ...] = ()
    failure: str = ""


def plain_steps(request: TrainingRequest) -> PlainSteps:
    """Run the first steps of a script twice. Its output is not shown, and its stdin is empty.

    Raises
    ------
    OSError : no process can be started.
    """
    found = []
    for number in range(1, _RUNS + 1):
        request.end.console.note(
            f"--verify-neutral: the first {STEPS} steps {_WITHOUT}, run {number} of {_RUNS}"
        )
        with tempfile.TemporaryDirectory(prefix="hookcli-neutral-") as folder:
            ran = _run(request, Path(folder) / "run.json")
        if isinstance(ran, str):
            return PlainSteps(failure=ran)
        found.append(ran)
    return PlainSteps(tuple(found))


def _run(request: TrainingRequest, file: Path) -> TrainingReport | str:
    """Return the report of a run, or why it cannot be used."""
    script = request.job.script
    words = ["run", "--quiet", "--python", request.python.path, "--no-children"]
    words += ["--steps", f"0-{STEPS - 1}", "--max-steps", f"{STEPS}", "--output", str(file)]
    words += ["-m", script.name] if script.is_module else ["--", script.name]
    ended = run_python(
        hookcli_command(*words, *script.arguments),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        report = read_any_report(str(file))
    except RequestError:
        lines = ended.stderr.strip().splitlines()
        return lines[-1] if lines else f"it ended with status {ended.returncode}"
    if isinstance(report, Report):
        return "it wrote no report of a training"
    if report.script.ended not in {"max_steps", "completed"}:
        return report.script.error or f"it ended with status {report.script.status}"
    return report


def neutral_row(report: TrainingReport, plain: PlainSteps) -> CheckRow:
    """Return whether the first steps are those of the runs without hooks in compiled code."""
    if plain.failure:
        return _row("skip", f"the run {_WITHOUT} gave no steps to compare: {plain.failure}")
    first, second = plain.runs
    apart = _largest(_compared(first, second))
    diff = _compared(first, report)
    steps = min((row.compared for row in diff.records), default=0)
    figures = sum(row.figures for row in diff.records)
    if not figures:
        return _row("skip", f"the run {_WITHOUT} has no step of this one")
    least = _largest(diff)
    if least is None:
        return _row(
            "pass",
            f"{counted(figures, 'figure')} of the first {counted(steps, 'step')} are equal to "
            f"those of a run {_WITHOUT}, to the last digit",
        )
    record, figure = least
    sentence = _sentence(record, figure, several=len(diff.records) > 1)
    if apart is not None:
        return _row(
            "skip",
            f"the script does not repeat itself: two runs {_WITHOUT} differ too, so that what "
            f"hooks change is not known ({sentence})",
        )
    mode = report.tracking.compiled or "layers"
    return _row("fail", f"not neutral: {sentence}", figure, _ADVICE.get(mode, _FUSED))


def _compared(a: TrainingReport, b: TrainingReport) -> TrainingDiff:
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.comparison.training.compare_trainings import compare_trainings

    return compare_trainings(a, b, Tolerances())


def _largest(diff: TrainingDiff) -> tuple[RecordDiff, FigureDiff] | None:
    """Return the first figure that is not equal to the last digit, and its record."""
    apart = [(row, row.first_inexact) for row in diff.records if row.first_inexact is not None]
    return min(apart, key=lambda item: item[1].step, default=None)


def _sentence(record: RecordDiff, figure: FigureDiff, *, several: bool) -> str:
    what = _NAMES.get(figure.kind, f"{figure.kind} of {{name}}").format(name=figure.name)
    of = f" of {record.a}" if several else ""
    size = "" if figure.relative is None else f", by {float(figure.relative):.2g} of its size"
    return (
        f"from step {figure.step}{of} on, values differ from those of a run {_WITHOUT}; first is "
        f"{what}: {_value(figure.b)} beside {_value(figure.a)}{size}"
    )


def _value(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else f"{value}"


def _row(
    status: Literal["pass", "fail", "skip"],
    message: str,
    figure: FigureDiff | None = None,
    advice: str | None = None,
) -> CheckRow:
    return CheckRow(
        rule=_RULE,
        target="" if figure is None else figure.name or "",
        status=status,
        severity="warning",
        value=None if figure is None else figure.b,
        limit=None if figure is None else figure.a,
        message=message,
        place=None,
        fingerprint=hashlib.sha256(_RULE.encode()).hexdigest()[:16],
        advice=advice,
    )
