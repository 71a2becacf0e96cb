"""The figures of a training by step, and which of them rules over steps compare."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Literal, TypeAlias

from hookcli.report.report import ParameterRow, Report
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.values import Number
from hookcli.rules.select import owner
from hookcli.text import counted

Figure: TypeAlias = Literal["loss", "grad_norm", "lr", "scale"]
# The share of a gradient that rounding errors can reach in a sum of thousands of terms, by dtype.
_ROUNDED: defaultdict[str, float] = defaultdict(lambda: 1e-5, bfloat16=1e-1, float16=1e-2)
_WARM = 0.01  # of the learning rate of later steps
BEFORE_WARMUP = "the learning rate is far smaller in the steps in detail than later"
NO_OPTIMIZER = "no optimizer makes steps"
Series: TypeAlias = list[tuple[int, float]]


def maximizes(training: TrainingInfo | None) -> bool:
    """Return whether the optimizer of a training goes uphill: signs of its loss are the others."""
    optimizer = None if training is None else training.optimizer
    return optimizer is not None and bool(optimizer.options.get("maximize"))


def script_line(report: Report, of: Literal["optimizer", "backward", "step", "loss"]) -> str | None:
    """Return the line of the script that makes an optimizer, a loss, a backward pass or a step.

    If it is not known, as in reports of version 0.1, it is that of the model.
    """
    lines = None if report.training is None else report.training.lines
    line: str | None = None if lines is None else getattr(lines, of)
    return line or report.model.place


def calls_without_graph_only(training: TrainingInfo | None) -> bool:
    """Return whether a training calls its model, but never with gradients."""
    if training is None or not training.graphless:
        return False
    return training.calls == training.graphless + training.evaluations


def real(value: Number | None) -> float | None:
    """Return a number that is known and finite; None if it is not."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def largest_rate(row: StepRow) -> float | None:
    """Return the largest learning rate of all groups of the optimizer in a step."""
    return real(row.lr if row.largest_lr is None else row.largest_lr)


def is_before_warmup(training: TrainingInfo) -> bool:
    """Return whether the steps in detail have a rate that is nothing beside that of later ones."""
    rates = [(row.step, rate) for row in training.steps if (rate := largest_rate(row)) is not None]
    last = training.sampled[-1] if training.sampled else 0
    compared = [rate for step, rate in rates if step < last]
    later = [rate for step, rate in rates if step >= last]
    return bool(compared and later) and max(compared) < _WARM * max(later)


def series(training: TrainingInfo, figure: Figure) -> Series:
    """Return the steps and values of a figure, up to the first step that is not finite.

    Steps that GradScaler skipped, and those whose value is not known, are left out.
    """
    bad = first_bad(training)
    last = math.inf if bad is None else bad.step
    rows = [row for row in training.steps if row.step < last and not row.skipped]
    pairs = ((row.step, real(getattr(row, figure))) for row in rows)
    return [(step, value) for step, value in pairs if value is not None]


def few_norms(norms: Series, least: int) -> str:
    """Return why a rule cannot judge so few gradient norms."""
    count = counted(len(norms), "step")
    return f"the gradient norms of {count} are known, at least {least} are needed"


def first_bad(training: TrainingInfo) -> StepRow | None:
    """Return the first step with a loss or gradient that is not finite, and that was not skipped.

    GradScaler skips steps with such gradients, and tries smaller scales.
    """
    for row in training.steps:
        if not row.skipped and any(isinstance(x, str) for x in (row.loss, row.grad_norm)):
            return row
    return None


def middle(rows: Sequence[tuple[int, float]]) -> float:
    """Return the median of the values."""
    return median(value for _, value in rows)


def thirds(rows: Series) -> tuple[Series, Series]:
    """Return the first and the last third."""
    third = max(1, len(rows) // 3)
    return rows[:third], rows[-third:]


def below(later: Series, earlier: Series) -> float:
    """Return the probability that a value of the later rows is below one of the earlier rows.

    Equal values count half. It is the statistic of Mann and Whitney by the number of pairs.
    """
    ordered = sorted(value for _, value in earlier)
    wins = sum(
        len(ordered) - (bisect_left(ordered, late) + bisect_right(ordered, late)) / 2
        for _, late in later
    )
    return wins / (len(later) * len(earlier))


def deviation(first: int, second: int) -> float:
    """Return the standard deviation of `below` for two samples of one distribution."""
    return math.sqrt((first + second + 1) / (12 * first * second))


def statuses(row: ParameterRow) -> list[tuple[int, str]]:
    """Return the status of the gradient at each sampled step; [] if none is known."""
    if row.steps:
        entries = row.numbered_steps()
        return [(entry["step"], entry["status"]) for entry in entries if entry.get("status")]
    return [] if row.status is None else [(0, row.status)]


def cancelled(report: Report) -> set[str]:
    """Return the parameters whose gradient is a sum that cancels up to rounding, next to others.

    Such are the bias in front of a batch norm and that of the keys of an attention: their gradient
    is zero, so no step changes them, and none needs to. It lies decades below the gradient of the
    weight of the same module.
    """
    sizes: dict[str, list[tuple[str, float, float]]] = {}
    for row in report.parameters:
        norm = real((row.grad or {}).get("norm"))
        if norm is not None and row.numel:
            size = norm / math.sqrt(row.numel)
            sizes.setdefault(owner(row.name), []).append((row.name, size, _ROUNDED[row.dtype]))
    return {
        name
        for rows in sizes.values()
        for name, size, share in rows
        if 0 < size < share * max(other for _, other, _ in rows)
    }


_PARAMETRIZED = ".parametrizations"  # below a layer whose weight is computed, as spectral_norm does


def without_sum(report: Report) -> set[str]:
    """Return biases whose gradient is zero although that of the weight is not.

    The gradient of such a bias is the sum of those of the outputs: they cancel, as those of real
    and generated samples in a critic whose loss is a difference. No shift of the outputs matters.
    """
    reached = {
        owner(row.name).partition(_PARAMETRIZED)[0]
        for row in report.parameters
        if row.status == "ok"
    }
    return {
        row.name
        for row in report.parameters
        if row.status == "zero"
        and row.name.rpartition(".")[2] == "bias"
        and (row.module_type or "").removeprefix("Parametrized").startswith(("Linear", "Conv"))
        and owner(row.name) in reached
    }


def trained_between(report: Report) -> set[str]:
    """Return the parameters that change in a training, without a gradient at the sampled steps.

    So do those of an expert that few samples are sent to: other steps have given it a gradient.
    """
    if report.training is None:
        return set()
    changed = {row.name for row in report.training.updates if row.changed}
    return {
        row.name
        for row in report.parameters
        if row.name in changed and {status for _, status in statuses(row)} == {"none"}
    }


def skipped_steps(training: TrainingInfo) -> set[int]:
    """Return the known steps that GradScaler skipped."""
    return {row.step for row in training.steps if row.skipped}
