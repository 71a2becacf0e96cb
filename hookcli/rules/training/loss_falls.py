"""`loss_falls`: the loss of a training falls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.training.flat_loss_reasons import (
    DECAY,
    SMALL_STEP,
    advice_of_trial,
    cause_of,
    clipped_to,
    rate_of_trial,
    reason_of_guess,
    unrelated_targets,
)
from hookcli.rules.training.series import (
    Series,
    below,
    deviation,
    middle,
    script_line,
    series,
    thirds,
)
from hookcli.text import counted, join_names

_LEAST = 60  # steps: in a shorter training, batches differ more than the loss falls
_SHORTEST = 20  # steps, if one batch was tried
_FALLS = 1.28  # standard deviations: a loss that does not change is above it in 10 % of trainings
_FALL = 0.95
_LITTLE = 0.99  # a slow fall, as of small steps from a good start
_SHORT = 200  # steps: a model that begins with a guess may still be near to it
_RISES = -3.0
_RISE = 1.1  # least factor
_CLASSES, _GUESS = "loss_classes", 0.02  # a measurement, and how near the loss of a guess is
NORMAL = 1.4826  # standard deviation of a normal distribution, by its median absolute deviation
_SAME, _NEARLY_ALL = 1e-3, 0.95  # of a norm, and of the steps
_TIMES_EPS = 10.0  # a gradient below that is damped by a tenth or more
_START = 3  # the losses before the training has changed much
_CLEARLY = 0.9  # a training that reaches its floor within a third


def unfit(report: Report, losses: Series, least: int) -> str | None:
    """Return why the losses of a training do not need to fall; None if they need to."""
    training = report.training
    assert training is not None  # noqa: S101  # the callers have checked it
    if training.together:
        return f"'{join_names(training.together)}' is trained too: its steps change the loss"
    if len(losses) < least:
        return (
            f"the losses of {counted(len(losses), 'step')} are known, at least {least} are needed"
        )
    if min(value for _, value in losses) < 0:
        return "a loss below 0 has no known least value"
    return None


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the loss does not fall over the training, or rises."""
    if report.training is None:
        yield not_a_training()
        return
    rate = rate_of_trial(report)
    losses = series(report.training, "loss")
    early, late = thirds(losses) if losses else ([], [])
    if losses and _fell(losses, early, late):
        is_slow = middle(late) > _FALL * middle(early)
        cause = None
        if is_slow and unfit(report, losses, options["steps"]) is None:
            cause = cause_of(report, report.training, tiny=SMALL_STEP)
        if cause is not None:
            first, last = middle(early), middle(late)
            message = f"{cause[0]}, and the loss falls by {100 * (1 - last / first):.2g} % only"
            yield RuleFinding(
                "fail", "", "little", message, last, first, script_line(report, "optimizer"),
                severity="note", advice=cause[1],
            )  # fmt: skip
            return
        if (note := _stays_at_guess(report, losses, late)) is not None:
            yield note if rate is None else _rate_finding(report, rate, early, late)
            return
        yield passed(f"the loss falls from {middle(early):.4g} to {middle(late):.4g}")
        return
    reason = unfit(report, losses, options["steps"])
    if reason is not None:
        if rate is None or unfit(report, losses, _SHORTEST) is not None:
            yield skipped(reason)
        else:
            yield _rate_finding(report, rate, early, late)
        return
    first, last = middle(early), middle(late)
    score = (below(late, early) - 0.5) / deviation(len(late), len(early))
    what = f"median {first:.4g} in the first third of {losses[-1][0] + 1:,} steps"
    place = script_line(report, "optimizer")
    if score < _RISES and last > _RISE * first:
        if rate is not None:
            yield _rate_finding(report, rate, early, late)
            return
        message = f"the loss rises: {what}, {last:.4g} in the last"
        yield RuleFinding("fail", "", "rises", message, last, first, place, advice=_LOWER)
        return
    if len({value for _, value in losses}) == 1:
        message = f"the loss is {first:.4g} at each of {counted(len(losses), 'step')}"
        yield RuleFinding("fail", "", "constant", message, last, first, place, advice=_CHECK)
        return
    if not _is_clear(early, late):
        if rate is not None:
            yield _rate_finding(report, rate, early, late)
            return
        if (note := _stays_at_guess(report, losses, late)) is not None:
            yield note
            return
        if (why := unrelated_targets(report)) is not None:
            message = f"{why[0]}, and no fall of the loss is seen: {what}, {last:.4g} in the last"
            yield RuleFinding(
                "fail", "", "flat", message, last, first, place, severity="note", advice=why[1]
            )
            return
        yield skipped("the losses of batches differ too much to see a fall of 5%")
        return
    message = f"the loss does not fall: {what}, {last:.4g} in the last"
    norm = clipped_to(report, report.training)
    cause = None if norm is not None else cause_of(report, report.training)
    if cause is not None:
        yield RuleFinding(
            "fail", "", "flat", f"{cause[0]}, and {message}", last, first, place, advice=cause[1],
            cause=DECAY if "weight_decay" in cause[0] else "",
        )  # fmt: skip
        return
    if norm is None and rate is not None:
        yield _rate_finding(report, rate, early, late)
        return
    if norm is not None:
        clipped = f"the gradient norm is {norm:.3g} in each step, as after clipping"
        message = f"{clipped}, and {message}"
        yield RuleFinding(
            "fail", "", "clipped", message, last, first, place, cause="clipped_norm", advice=_LIMIT
        )
        return
    classes = next((m.value for m in report.measurements if m.probe == _CLASSES), None)
    falls_little = last <= _LITTLE * first
    guess = math.log(classes) if classes and classes > 1 else math.inf
    if abs(last - guess) < _GUESS * guess and not (falls_little and len(losses) < _SHORT):
        message += f", which is ln({classes}), as of a guess without a look at the input"
        advice = advice_of_trial(report) or (
            "check that labels belong to their inputs, and that the inputs reach the layers"
        )
        why = reason_of_guess(report, losses, guess)
        if why is not None:
            message, advice = f"{why[0]}, and {message}", why[1]
        yield RuleFinding("fail", "", "flat", message, last, first, place, advice=advice)
        return
    if (why := unrelated_targets(report)) is not None:
        message, advice = f"{why[0]}, and {message}", why[1]
        yield RuleFinding("fail", "", "flat", message, last, first, place, advice=advice)
        return
    if falls_little:
        fall = 100 * (1 - last / first)
        message = f"the loss falls by {fall:.2g} % only: {what}, {last:.4g} in the last"
        yield RuleFinding(
            "fail", "", "little", message, last, first, place, severity="note", advice=_CHECK
        )
        return
    advice = advice_of_trial(report) or _CHECK
    yield RuleFinding("fail", "", "flat", message, last, first, place, advice=advice)


def _rate_finding(
    report: Report, rate: tuple[str, str], early: Series, late: Series
) -> RuleFinding:
    """Return what a trial says of the learning rate."""
    return RuleFinding(
        "fail", "", "rate", rate[0], middle(late), middle(early), script_line(report, "optimizer"),
        advice=rate[1],
    )  # fmt: skip


def _stays_at_guess(report: Report, losses: Series, late: Series) -> RuleFinding | None:
    """Return the note that a loss of classes ends at that of a guess; None if it does not."""
    training = report.training
    classes = next((m.value for m in report.measurements if m.probe == _CLASSES), None)
    if not classes or classes < 2 or training is None or len(late) < _LEAST // 3:
        return None
    last, guess = middle(late), math.log(classes)
    if abs(last - guess) > _GUESS * guess:
        return None
    message = f"the loss ends at {last:.4g}, which is ln({classes}), as of a guess"
    advice = advice_of_trial(report) or (
        "check the learning rate, and that labels belong to their inputs"
    )
    why = reason_of_guess(report, losses, guess)
    if why is not None:
        message, advice = f"{why[0]}, and {message}", why[1]
    return RuleFinding(
        "fail", "", "guess", message, last, guess, script_line(report, "optimizer"),
        severity="note", advice=advice,
    )  # fmt: skip


def _is_clear(early: Series, late: Series) -> bool:
    """Return whether a fall of 5 % could be told from chance.

    The standard error of a median of n normal values is sqrt(pi / 2) times that of the mean.
    """
    usual = middle(late)
    spread = NORMAL * median(abs(value - usual) for _, value in late)
    error = math.sqrt(math.pi / 2 * (1 / len(early) + 1 / len(late))) * spread
    return _FALLS * error < (1 - _FALL) * middle(early)


def _fell(losses: Series, early: Series, late: Series) -> bool:
    """Return whether the last losses are below the first ones, by more than chance."""
    if below(late, losses[:_START]) >= _CLEARLY:
        return True
    if middle(late) < _FALL * middle(early):
        return True
    return below(late, early) - 0.5 > _FALLS * deviation(len(late), len(early))


_LIMIT = "raise the limit of the clipping: most norms before it should be below the limit"
_LOWER = "lower the learning rate, clip the gradients, and check the sign of the loss"
_CHECK = (
    "check the learning rate and the other findings; train on one batch: the loss of a model that "
    "learns falls to nearly 0"
)

RULE = Rule(
    name="loss_falls",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="losses",
    says="the loss of a training falls",
    computes="Compares the losses of the first third of the known steps with those of the last "
    "third by their ranks, and the first three losses with the last third. The loss fell if a late "
    "loss is below an early one in more than half of the pairs, by 1.28 standard deviations, or "
    "below the first three in 90 %, or if the median fell by 5 %. It rises if it is above by 3, "
    "and by a tenth. Skipped below `steps` losses; if batches differ so much that a fall "
    "of 5 % could not be seen; with a loss below 0, as in policy gradients; and if other models "
    "are trained in turn, as in a GAN, or are copies of this one, as target networks are. A loss "
    "that only falls to that of a guess, passes. A fall of 1 to 5 % is a note, also to that of a "
    "guess within 200 steps. If the gradient of SGD has the same norm in 95 % "
    "of the steps, the finding names the clipping; else it names what is known: less than 1 % of "
    "the values can be trained, steps change less than 2e-5 of the norm, or all of them less than "
    "3 %, or the inputs are above "
    "50 or have a standard deviation below 0.01. If one of these is known, a fall of less than 5 % "
    "is a note too. If the losses of the first 20, 60, 200 or 600 steps have not fallen, or are "
    "those of a guess, a copy of the process trains the model on one batch for 20 steps, from its "
    "first values: with the learning rate of the script and with others. The finding, here also "
    "from 20 losses on, is that another rate lowers the loss of the batch to half of the first "
    "one, or of that of a guess, and the rate of the script does not lower it to 80 %. A rate is "
    "called too low only if no step that was measured changes 3e-4 of the norm of the parameters.",
    formula="P(late < early) > 1/2 + 1.28 sqrt((n + m + 1) / (12 n m)), of n and m losses",
    source="Mann and Whitney 1947; smdebug LossNotDecreasing, which compares single values",
    fails="labels that were shuffled without their samples; a learning rate of 1e-9, or one that "
    "is too large; layers after which the gradient ends",
    mend="train on one batch first: if the loss does not fall there either, the code is wrong, not "
    "the data. Then try other learning rates, each ten times the last",
    example="{rule: loss_falls, steps: 200}",
    options=(RuleOption("steps", "count", "the smallest number of known losses", _LEAST),),
    judge=judge,
)
