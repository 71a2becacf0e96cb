"""`update_ratio`: one optimizer step changes each parameter by a sensible share of its norm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from statistics import median
from typing import Any

from hookcli.report.report import Report
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import matches, owner, places, weight_of
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import (
    BEFORE_WARMUP,
    cancelled,
    first_bad,
    is_before_warmup,
    largest_rate,
    middle,
    real,
    script_line,
    series,
    thirds,
)
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "update"
_WHOLE = 1.0  # of the norm of all parameters: a larger step replaces them
_TINY_WAY, _FEW = 2e-3, 2  # of the norm, in all steps; and steps whose change is known
_LEAST, _SHORT = 30, 3  # losses, and those before the first one that is not finite
_MOST, _TIMES = 0.6, 1.5  # of the last losses, and of the first loss
_JUMP = 2.0  # of the first loss
_FAR, _CLEARLY = 5.0, 0.9  # of the loss before a step


def _ratio(value: dict[str, Any]) -> float | None:
    """Return norm(dw) / norm(w); None without a gradient, and for a parameter that is all zeros."""
    weight, change = float(value["weight"]), float(value["change"])
    return change / weight if value["graded"] and weight > 0 else None


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each parameter whose ratio is outside the limits."""
    if report.training is not None:
        yield from _of_training(report, report.training, options)
        return
    rows = {m.target: m.value for m in report.measurements if m.probe == PROBE}
    about = rows.pop("", None)
    unusable = without_loss(report)
    if unusable is not None:
        yield unusable
        return
    if about is None:
        yield skipped("the run made no optimizer step")
        return
    if "why" in about:
        yield skipped(about["why"])
        return
    if "error" in about:
        message = f"the optimizer step could not be measured: {about['error']}"
        yield RuleFinding("error", "", "no step", message, place=about["place"])
        return
    selected = {n: v for n, v in rows.items() if any(matches(g, n) for g in options["at"])}
    if not selected:
        yield no_match("parameter", options["at"])
    elif about["lr"] == 0:
        message = f"the learning rate of {about['optimizer']} is 0: a step changes no parameter"
        yield RuleFinding(
            "fail", "", "learning rate", message, 0, options["min"], advice=_RAISE,
            cause="learning_rate_zero",
        )  # fmt: skip
    else:
        yield from _of_parameters(report, selected, about["optimizer"], options)


def _of_training(report: Report, training: TrainingInfo, options: Options) -> Iterator[RuleFinding]:
    """Judge the ratios of the sampled steps: a parameter that has converged changes little."""
    largest: dict[str, float] = {}
    usual: dict[str, float] = {}
    aside = cancelled(report)
    single = {row.name for row in report.parameters if row.numel == 1}  # it may pass through zero
    for row in training.updates:
        known = [float(x) for x in row.ratios if isinstance(x, int | float) and x > 0]
        chosen = any(matches(glob, row.name) for glob in options["at"])
        if known and chosen and row.name not in aside and not _is_just_reached(row.ratios):
            largest[row.name] = max(known)
            if row.name not in single:
                usual[row.name] = median(known)
    name = "the optimizer" if training.optimizer is None else training.optimizer.type
    worse = _above_start(training)
    ratios = {step.step: whole for step in training.steps if (whole := real(step.update_ratio))}
    most = max(ratios, key=ratios.__getitem__, default=None)
    if worse is not None and most is not None and ratios[most] > min(_WHOLE, options["max"]):
        message = (
            f"a step of {name}{_at_rate(training)} changes all parameters by {ratios[most]:.3g} of "
            f"their norm, and the loss stays above its start: {worse[0]:.4g}, {worse[2]} "
            f"{worse[1]:.4g} at the end"
        )
        place = script_line(report, "optimizer")
        yield RuleFinding(
            "fail", "", "above", message, ratios[most], _WHOLE, place, advice=_LOWER,
            step=most,
        )  # fmt: skip
        return
    thrown = _thrown_off(training, min(_WHOLE, options["max"]))
    if thrown is not None:
        step, then = thrown
        message = (
            f"a step of {name}{_at_rate(training)} changes all parameters by "
            f"{real(step.update_ratio):.3g} of their norm, and the loss rises from "
            f"{real(step.loss):.4g} to {then:.4g}"
        )
        place = script_line(report, "optimizer")
        yield RuleFinding(
            "fail", "", "above", message, real(step.update_ratio), _WHOLE, place, advice=_LOWER,
            step=step.step,
        )  # fmt: skip
        return
    for step, after in zip_longest(training.steps, training.steps[1:]):
        whole = real(step.update_ratio)
        if whole is not None and whole > options["max"] and not _helped(step, after):
            message = (
                f"a step of {name} changes all parameters by {whole:.3g} of their norm, above "
                f"{options['max']:g}"
            )
            place = script_line(report, "optimizer")
            yield RuleFinding(
                "fail", "", "above", message, whole, options["max"], place,
                advice=_LOWER, step=step.step,
            )  # fmt: skip
            return
    if is_before_warmup(training):
        yield skipped(BEFORE_WARMUP)
        return
    made = training.total - training.skipped
    if (
        len(ratios) >= _FEW
        and made >= _LEAST
        and ratios
        and max(ratios.values()) * made < _TINY_WAY
    ):
        way = max(ratios.values()) * made
        message = (
            f"{counted(made, 'step')} of {name}{_at_rate(training)} change the parameters by at "
            f"most {way:.2g} of their norm"
        )
        yield RuleFinding(
            "fail", "", "tiny", message, way, _TINY_WAY, script_line(report, "optimizer"),
            severity="note",
            advice="raise the learning rate: 1e-3 of the norm is a usual change of one step",
        )  # fmt: skip
        return
    yield from _judged(report, largest, usual, name, options)


def _is_just_reached(ratios: Sequence[Any]) -> bool:
    """Return whether the first sampled steps did not change a parameter, as behind a zero weight.

    Its gradient is as small as what these steps have made of that weight, and grows.
    """
    known = [real(ratio) or 0.0 for ratio in ratios]
    return len(known) > 1 and known[0] == 0 and known[-1] == max(known) > 0


def _at_rate(training: TrainingInfo) -> str:
    rates = [rate for step in training.steps if (rate := largest_rate(step)) is not None]
    return f", at a learning rate of {max(rates):.3g}," if rates else ""


def _above_start(training: TrainingInfo) -> tuple[float, float, str] | None:
    """Return the loss of the first step and the median or mean of the last third, if it is worse.

    The first loss is that of the initial weights. None if other models change the loss, if it has
    no known least value, or if too few losses are known.
    """
    losses = series(training, "loss")
    least = _LEAST if first_bad(training) is None else _SHORT
    if training.together or len(losses) < least or min(value for _, value in losses) < 0:
        return None
    (_, first), (_, late) = losses[0], thirds(losses)
    worse = sum(value > first for _, value in late) / len(late)
    if worse > _MOST and middle(late) > _TIMES * first:
        return first, middle(late), "median"
    average = sum(value for _, value in late) / len(late)
    jumps = max(value for _, value in late) > _JUMP * first
    return (first, average, "mean") if average > first and jumps else None


def _thrown_off(training: TrainingInfo, limit: float) -> tuple[StepRow, float] | None:
    """Return a step after which the loss is far higher, in a training that does not get below it.

    With it, the loss of the next step.
    """
    losses = series(training, "loss")
    if training.together or len(losses) < _LEAST or min(value for _, value in losses) < 0:
        return None
    late = middle(thirds(losses)[1])
    for step, after in pairwise(training.steps):
        whole, before, then = real(step.update_ratio), real(step.loss), real(after.loss)
        if whole is None or before is None or then is None or after.step != step.step + 1:
            continue
        if whole > limit and then > _FAR * before and late > _CLEARLY * before:
            return step, then
    return None


def _helped(step: StepRow, after: StepRow | None) -> bool:
    """Return whether the loss is lower after a step: small weights may have to become large."""
    before, then = real(step.loss), None if after is None else real(after.loss)
    return before is not None and then is not None and then < before


def _of_parameters(
    report: Report, rows: dict[str, dict[str, Any]], optimizer: str, options: Options
) -> Iterator[RuleFinding]:
    ratios = {name: ratio for name, value in rows.items() if (ratio := _ratio(value)) is not None}
    yield from _judged(report, ratios, ratios, optimizer, options)


def _judged(
    report: Report,
    largest: dict[str, float],
    usual: dict[str, float],
    optimizer: str,
    options: Options,
) -> Iterator[RuleFinding]:
    """Judge the largest ratios, which must not be too small, and the usual ones."""
    if not largest:
        yield skipped("no parameter has a gradient and a norm above 0")
        return
    small = {name: ratio for name, ratio in largest.items() if ratio < options["min"]}
    small = {
        name: ratio for name, ratio in small.items() if not _is_cancelled(name, largest, small)
    }
    large = {name: ratio for name, ratio in usual.items() if not ratio <= options["max"]}
    if small:
        worst = min(small, key=small.__getitem__)
        advice = _RAISE if 2 * len(small) > len(largest) else _LOOK
        yield _finding(report, small, worst, ("below", optimizer, options["min"], advice))
    if large:
        worst = max(large, key=large.__getitem__)
        yield _finding(report, large, worst, ("above", optimizer, options["max"], _LOWER))
    if not small and not large:
        ratios = usual or largest
        count = counted(len(ratios), "parameter")
        spread = f"{min(ratios.values()):.3g} to {max(ratios.values()):.3g}"
        yield passed(f"a step changes {count} by {spread} of the norm")


def _is_cancelled(name: str, ratios: dict[str, float], small: dict[str, float]) -> bool:
    """Return whether a bias changes little, and the weight of its layer changes as it should.

    The gradient of a bias is the sum of those of the outputs. It cancels in front of a norm.
    """
    weight = weight_of(name)
    return weight in ratios and weight not in small


def _finding(
    report: Report,
    ratios: dict[str, float],
    worst: str,
    about: tuple[str, str, float, str],
) -> RuleFinding:
    """Return one finding for all parameters on one side of the limits, which names the worst."""
    way, optimizer, limit, advice = about
    others = len(ratios) - 1
    more = f"; {counted(others, 'other parameter')} too" if others else ""
    message = (
        f"a step of {optimizer} changes '{worst}' by {ratios[worst]:.3g} of its norm, {way} "
        f"{limit:g}{more}"
    )
    place = places(report).get(owner(worst))
    return RuleFinding(
        "fail", worst, way, message, ratios[worst], limit, place, advice=advice,
    )  # fmt: skip


_RAISE = "increase the learning rate"
_LOOK = "look at what makes these gradients so small: the other parameters change as usual"
_LOWER = "lower the learning rate"

RULE = Rule(
    name="update_ratio",
    severity="warning",
    looks_at="updates",
    of_training=True,
    says="an optimizer step changes each parameter by a sensible share of its norm",
    computes="Takes one step with run.optimizer over all parameters that require grad, and "
    "compares each with its value before. Parameters without a gradient, and those that start "
    "with zeros only, are not judged. It requires run.optimizer and a loss of the model or the "
    "user, since the default ones say nothing about a training. The model is restored bit by bit. "
    "In a training of `hookcli run`, the ratios of the sampled steps that changed a parameter are "
    "judged: the largest must not be below `min`, unless it grows from 0, "
    "nor the median above `max`. The ratio of all parameters together must not be above `max` at "
    "any sampled step, unless the loss falls there; "
    "nor above 1 if more than 60 % of the last third of the losses, and their median by half, are "
    "above the loss of the first step; or if their mean is above it, and the largest twice; or if "
    "the loss is five times as large right after the step, and the median of the last third is "
    "above 0.9 of the loss before it.",
    formula="min <= norm(w after - w) / norm(w) <= max, with 2-norms",
    source="smdebug's WeightUpdateRatio, with its limits; 1e-3 is a good value (Karpathy, CS231n)",
    fails="a learning rate of 100; a learning rate of 0 in the first step of a warm-up; a layer "
    "whose gradient is ten orders of magnitude smaller than its weights",
    mend="change the learning rate, or the scale of the loss or of the layer",
    example="{rule: update_ratio, min: 1.0e-5, max: 0.1}",
    options=(
        RuleOption("at", "globs", "globs of parameter names", ("*",)),
        RuleOption("min", "number", "the smallest ratio", 1e-8),
        RuleOption("max", "number", "the largest ratio", 10.0),
    ),
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    judge=judge,
)
