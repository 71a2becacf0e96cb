"""`loss_falls`: the loss of a training falls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.training.series import (
    Series,
    below,
    deviation,
    largest_rate,
    middle,
    real,
    script_line,
    series,
    thirds,
)
from hookcli.text import counted, join_names

_LEAST = 60  # steps: in a shorter training, batches differ more than the loss falls
_FALLS = 1.28  # standard deviations: a loss that does not change is above it in 10 % of trainings
_FALL = 0.95
_LITTLE = 0.99  # a slow fall, as of small steps from a good start
_SHORT = 200  # steps: a model that begins with a guess may still be near to it
_RISES = -3.0
_RISE = 1.1  # least factor
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
    losses = series(report.training, "loss")
    early, late = thirds(losses) if losses else ([], [])
    if losses and _fell(losses, early, late):
        is_slow = middle(late) > _FALL * middle(early)
        cause = None
        if is_slow and unfit(report, losses, options["steps"]) is None:
            cause = _cause_of(report, report.training, tiny=_SMALL_STEP)
        if cause is not None:
            first, last = middle(early), middle(late)
            message = f"{cause[0]}, and the loss falls by {100 * (1 - last / first):.2g} % only"
            yield RuleFinding(
                "fail", "", "little", message, last, first, script_line(report, "optimizer"),
                severity="note", advice=cause[1],
            )  # fmt: skip
            return
        if (note := _stays_at_guess(report, late)) is not None:
            yield note
            return
        yield passed(f"the loss falls from {middle(early):.4g} to {middle(late):.4g}")
        return
    reason = unfit(report, losses, options["steps"])
    if reason is not None:
        yield skipped(reason)
        return
    first, last = middle(early), middle(late)
    score = (below(late, early) - 0.5) / deviation(len(late), len(early))
    what = f"median {first:.4g} in the first third of {losses[-1][0] + 1:,} steps"
    place = script_line(report, "optimizer")
    if score < _RISES and last > _RISE * first:
        message = f"the loss rises: {what}, {last:.4g} in the last"
        yield RuleFinding("fail", "", "rises", message, last, first, place, advice=_LOWER)
        return
    if len({value for _, value in losses}) == 1:
        message = f"the loss is {first:.4g} at each of {counted(len(losses), 'step')}"
        yield RuleFinding("fail", "", "constant", message, last, first, place, advice=_CHECK)
        return
    if not _is_clear(early, late):
        if (note := _stays_at_guess(report, late)) is not None:
            yield note
            return
        yield skipped("the losses of batches differ too much to see a fall of 5%")
        return
    message = f"the loss does not fall: {what}, {last:.4g} in the last"
    norm = _clipped_to(report, report.training)
    cause = None if norm is not None else _cause_of(report, report.training)
    if cause is not None:
        why, advice = cause
        yield RuleFinding(
            "fail", "", "flat", f"{why}, and {message}", last, first, place, advice=advice,
            cause=DECAY if "weight_decay" in why else "",
        )  # fmt: skip
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
        advice = "check that labels belong to their inputs, and that the inputs reach the layers"
        yield RuleFinding("fail", "", "flat", message, last, first, place, advice=advice)
        return
    if falls_little:
        fall = 100 * (1 - last / first)
        message = f"the loss falls by {fall:.2g} % only: {what}, {last:.4g} in the last"
        yield RuleFinding(
            "fail", "", "little", message, last, first, place, severity="note", advice=_CHECK
        )
        return
    yield RuleFinding("fail", "", "flat", message, last, first, place, advice=_CHECK)


def _stays_at_guess(report: Report, late: Series) -> RuleFinding | None:
    """Return the note that a loss of classes ends at that of a guess; None if it does not."""
    training = report.training
    classes = next((m.value for m in report.measurements if m.probe == _CLASSES), None)
    if not classes or classes < 2 or training is None or len(late) < _LEAST // 3:
        return None
    last, guess = middle(late), math.log(classes)
    if abs(last - guess) > _GUESS * guess:
        return None
    message = f"the loss ends at {last:.4g}, which is ln({classes}), as of a guess"
    return RuleFinding(
        "fail", "", "guess", message, last, guess, script_line(report, "optimizer"),
        severity="note", advice="check the learning rate, and that labels belong to their inputs",
    )  # fmt: skip


def _cause_of(
    report: Report, training: TrainingInfo, *, tiny: float | None = None
) -> tuple[str, str] | None:
    """Return what keeps a model from learning, and what to try; None if it is not known.

    Steps that change the parameters by less than `tiny` of their norm are one reason.
    """
    known = [row for row in report.parameters if row.numel]
    whole = sum(row.numel or 0 for row in known)
    free = [row for row in known if row.requires_grad]
    share = sum(row.numel or 0 for row in free) / max(1, whole)
    if known and share < _FREE:
        return (
            f"only {len(free):,} of {counted(len(known), 'parameter')} can be trained, {share:.2g} "
            "of all values",
            "call `requires_grad_(True)` on the parts that are to learn",
        )
    ratios = [ratio for step in training.steps if (ratio := real(step.update_ratio)) is not None]
    rates = [rate for step in training.steps if (rate := largest_rate(step)) is not None]
    if ratios and rates and max(ratios) < (tiny or _TINY_STEP):
        return (
            f"each step changes the parameters by at most {max(ratios):.2g} of their norm, at a "
            f"learning rate of up to {max(rates):.3g}",
            "raise the learning rate: 1e-3 of the norm is a usual change",
        )
    if (decayed := _decayed(training)) is not None:
        return decayed
    scale = next((m.value for m in report.measurements if m.probe == _SCALE), None)
    target, output = (real((scale or {}).get(key)) for key in ("target", "output"))
    if target is not None and output is not None and target >= _FAR * max(output, 1.0):
        return (
            f"the targets of the loss are about {target:.2g} in size, the outputs {output:.2g} "
            "at first",
            "subtract the mean of the targets, and divide them by their standard deviation",
        )
    spread = next((m.value for m in report.measurements if m.probe == _RANGE), None)
    low, high, std = (real((spread or {}).get(key)) for key in ("low", "high", "std"))
    if low is None or high is None or std is None:
        return None
    if max(abs(low), abs(high)) >= _LARGE:
        return (
            f"the inputs are not normalized, with values from {low:.4g} to {high:.4g}",
            "subtract the mean of the inputs, and divide them by their standard deviation",
        )
    if 0 < std < _SMALL and max(abs(low), abs(high)) < _SMALL * 10:
        return (
            f"the inputs are tiny, with a standard deviation of {std:.2g}",
            "scale the inputs to a standard deviation of about 1",
        )
    return None


def _decayed(training: TrainingInfo) -> tuple[str, str] | None:
    """Return that weight decay pulls more than the gradients do, at the first sampled steps.

    Optimizers that decouple it take a part of each weight instead, whose size the rate decides.
    """
    optimizer = training.optimizer
    decay = None if optimizer is None else real(optimizer.options.get("weight_decay"))
    if not decay or optimizer is None or optimizer.largest_weight_decay is not None:
        return None
    pulls = []
    for step in training.steps[1:]:
        weight, gradient = real(step.weight_norm), real(step.grad_norm)
        if weight is not None and gradient is not None:
            pulls.append((decay * weight, gradient, weight))
    decoupled = optimizer.type == "AdamW" or optimizer.options.get("decoupled_weight_decay") is True
    if not pulls or decoupled or any(a < _PULLS * b for a, b, _ in pulls[:_FIRST_STEPS]):
        return None
    pull, gradient, weight = pulls[0]
    return (
        f"a weight_decay of {decay:g} pulls the weights to 0 by {pull:.3g} ({decay:g} times their "
        f"norm of {weight:.3g}), more than their gradient, whose norm is {gradient:.3g}",
        "lower `weight_decay`: from 0 to 0.01 is usual for this optimizer",
    )


DECAY = "weight_decay"  # a cause
_PULLS, _FIRST_STEPS = 3.0, 2  # times the norm of the gradients, and the steps that are compared
_SMALL_STEP = 1e-4  # of the norm of all parameters, where the loss falls a little
_RANGE, _CLASSES, _SCALE = "input_range", "loss_classes", "target_scale"  # measurements
_FAR = 100.0  # times the size of the outputs
_GUESS = 0.02  # of the loss of a guess
_FREE = 0.01  # of the values of a model
_TINY_STEP = 2e-5  # of the norm of all parameters
_LARGE, _SMALL = 50.0, 0.01  # of inputs


def _clipped_to(report: Report, training: TrainingInfo) -> float | None:
    """Return the norm that clipping gives the gradient in each step; None if it does not.

    Other optimizers than SGD divide by the size of the gradients, so that it matters only if the
    gradients are not larger than `eps`, which they add to that.
    """
    norms = [value for _, value in series(training, "grad_norm")]
    optimizer = training.optimizer
    if optimizer is None or len(norms) < _LEAST:
        return None
    usual = median(norms)
    if optimizer.type != "SGD":
        eps = real(optimizer.options.get("eps"))
        many = sum(row.numel or 0 for row in report.parameters if row.requires_grad)
        if eps is None or usual > _TIMES_EPS * eps * math.sqrt(max(1, many)):
            return None
    alike = sum(abs(norm - usual) <= _SAME * usual for norm in norms)
    return usual if usual > 0 and alike >= _NEARLY_ALL * len(norms) else None


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
    "the values can be trained, steps change less than 2e-5 of the norm, or the inputs are above "
    "50 or have a standard deviation below 0.01. If one of these is known, a fall of less than 5 % "
    "is a note too.",
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
