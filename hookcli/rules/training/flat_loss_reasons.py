"""Why the loss of a training does not fall, as far as that is known.

Sources: Bishop 2006, Pattern Recognition and Machine Learning, on nearest neighbors and ridge
regression; Goodfellow et al. 2016, Deep Learning, 8.3 on the learning rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.training.series import Series, largest_rate, real, series
from hookcli.text import counted

DECAY = "weight_decay"  # a cause
SMALL_STEP = 1e-4  # of the norm of all parameters, where the loss falls a little
_PULLS, _FIRST_STEPS = 3.0, 2  # times the norm of the gradients, and the steps that are compared
_RANGE, _SCALE, _RELATION = "input_range", "target_scale", "label_relation"  # measurements
_TRIAL = "batch_trial"  # a measurement
_STAYS, _LEARNS = 0.8, 0.5  # of the first loss of one batch, or of that of a guess
_TRIED = 3  # other rates
_SMALL_CHANGE = 3e-4  # of the norm of all parameters: converged trainings change more
_PEAK = 0.3  # of the largest learning rate of a training
_FAR = 100.0  # times the size of the outputs
_FREE = 0.01  # of the values of a model
_TINY_STEP, _SHORT_WAY = 2e-5, 0.03  # of the norm of all parameters: in one step, and in all
_LARGE, _SMALL = 50.0, 0.01  # of inputs
_LEAST = 60  # steps whose norms are known
_SAME, _NEARLY_ALL = 1e-3, 0.95  # of a norm, and of the steps
_TIMES_EPS = 10.0  # a gradient below that is damped by a tenth or more
_ERRORS = 3.0  # standard errors above a guess
_EXPLAINED = 0.05  # of the variance of values
_EARLY, _TIMES = 20, 2.0  # losses at the start, and times the larger of the first and a guess
_ADVICE = (
    "check that inputs and targets are read, sorted and shuffled in the same order: index both "
    "with one permutation"
)


def cause_of(
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
    if (slow := _too_low(report)) is not None:
        return slow
    if ratios and rates and max(ratios) < (tiny or _TINY_STEP):
        return (
            f"each step changes the parameters by at most {max(ratios):.2g} of their norm, at a "
            f"learning rate of up to {max(rates):.3g}",
            "raise the learning rate: 1e-3 of the norm is a usual change",
        )
    made = training.total - training.skipped
    if ratios and rates and max(ratios) * made < _SHORT_WAY:
        return (
            f"{counted(made, 'step')} change the parameters by at most {max(ratios) * made:.2g} of "
            f"their norm, at a learning rate of up to {max(rates):.3g}",
            "raise the learning rate, or train for more steps: 1e-3 of the norm is a usual change "
            "of one step",
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


def reason_of_guess(report: Report, losses: Series, guess: float) -> tuple[str, str] | None:
    """Return why a loss of classes ends at that of a guess, and an advice; None if not known."""
    return _thrown_off(report, losses, guess) or rate_of_trial(report) or unrelated_targets(report)


def rate_of_trial(report: Report) -> tuple[str, str] | None:
    """Return that another learning rate lowers the loss of one batch, and an advice.

    None if the learning rate of the training does it, or if no other one does, or if no batch was
    tried.
    """
    return _too_high(report) or _too_low(report)


def _too_high(report: Report) -> tuple[str, str] | None:
    trial = _trial(report)
    if trial is None or not trial.stays:
        return None
    best = min((pair for pair in trial.others if pair[1] < trial.rate), default=None)
    if best is None or best[0] >= _LEARNS * trial.base:
        return None
    return trial.sentence("high", best), f"lower the learning rate: try {best[1]:.3g}"


def _too_low(report: Report) -> tuple[str, str] | None:
    trial = _trial(report)
    if trial is None or not trial.stays or trial.last is None or trial.last > trial.first:
        return None
    best = min((pair for pair in trial.others if pair[1] > trial.rate), default=None)
    if best is None or best[0] >= _LEARNS * trial.base or not _are_small(report):
        return None
    return trial.sentence("low", best), f"raise the learning rate: try {best[1]:.3g}"


def _are_small(report: Report) -> bool:
    """Return whether the steps that were measured change little of the parameters."""
    steps = () if report.training is None else report.training.steps
    ratios = [ratio for step in steps if (ratio := real(step.update_ratio)) is not None]
    return bool(ratios) and max(ratios) < _SMALL_CHANGE


def advice_of_trial(report: Report) -> str | None:
    """Return what follows if steps on one batch lower its loss, or if they do at no rate."""
    trial = _trial(report)
    if trial is None or trial.last is None:
        return None
    if trial.last < _LEARNS * trial.base:
        return (
            f"check that labels belong to their inputs: {trial.steps} on one batch lower its loss "
            f"from {trial.first:.4g} to {trial.last:.4g}"
        )
    rates = [rate for _, rate in trial.others]
    if len(rates) < _TRIED or min(trial.others)[0] < _STAYS * trial.base:
        return None
    return (
        f"check the model and its loss: {trial.steps} on one batch do not lower its loss of "
        f"{trial.first:.4g} at any rate from {min(rates):.2g} to {max(rates):.2g}"
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """Steps on one batch: the losses at the rate of the training, and pairs (loss, rate).

    `base` is the first loss, or that of a guess if that is less. `last` is None if it is not
    finite.
    """

    steps: str
    rate: float
    first: float
    last: float | None
    base: float
    others: list[tuple[float, float]]

    @property
    def stays(self) -> bool:
        """Whether the rate of the training does not lower the loss clearly."""
        return self.last is None or self.last >= _STAYS * self.base

    def sentence(self, which: str, best: tuple[float, float]) -> str:
        """Return that the rate is too `which`, next to the loss of a better one."""
        after = "makes it NaN or Inf" if self.last is None else f"leaves it at {self.last:.4g}"
        return (
            f"the learning rate of {self.rate:.3g} is too {which}: {self.steps} on one batch at "
            f"{best[1]:.3g} lower its loss from {self.first:.4g} to {best[0]:.4g}, and this rate "
            f"{after}"
        )


def _trial(report: Report) -> _Trial | None:
    """Return the steps on one batch, unless the learning rate was still rising then."""
    value = next((m.value for m in report.measurements if m.probe == _TRIAL), None)
    if value is None or report.training is None:
        return None
    own, *others = value["tries"]
    first = real(own["first"])
    rates = [rate for row in report.training.steps if (rate := largest_rate(row)) is not None]
    if first is None or first <= 0 or own["lr"] < _PEAK * max(rates, default=0.0):
        return None
    return _Trial(
        counted(value["steps"], "step"),
        own["lr"],
        first,
        real(own["last"]),
        min(first, real(value["guess"]) or math.inf),
        [(end, row["lr"]) for row in others if (end := real(row["last"])) is not None],
    )


def unrelated_targets(report: Report) -> tuple[str, str] | None:
    """Return that the inputs of samples do not tell their targets, and an advice.

    None if they do, or if that is not known.
    """
    value = next((m.value for m in report.measurements if m.probe == _RELATION), None)
    near, linear = (real((value or {}).get(key)) for key in ("near", "linear"))
    if value is None or near is None or linear is None:
        return None
    samples, usual = value["samples"], value["usual"]
    if not value["are_classes"]:
        if max(near, linear) > _EXPLAINED:
            return None
        return (
            f"the targets have no relation to the inputs: of {samples:,} samples, neither the "
            "nearest other sample nor a linear map tells the target",
            _ADVICE,
        )
    for found, chance, many in ((near, usual[0], samples), (linear, usual[1], samples // 2)):
        if found > chance + _ERRORS * math.sqrt(chance * (1 - chance) / many):
            return None
    return (
        f"the labels have no relation to the inputs: {near:.0%} of {samples:,} samples have the "
        f"label of the sample nearest to them, and {usual[0]:.0%} would by chance",
        _ADVICE,
    )


def _thrown_off(report: Report, losses: Series, guess: float) -> tuple[str, str] | None:
    """Return that an early step made the loss large, with its learning rate."""
    early = losses[1:_EARLY]
    if not early:
        return None
    step, most = max(early, key=lambda pair: pair[1])
    if most < _TIMES * max(losses[0][1], guess):
        return None
    steps = report.training.steps if report.training is not None else ()
    rates = [largest_rate(row) for row in steps if row.step < step]
    known = [rate for rate in rates if rate is not None]
    if not known:
        return None
    return (
        f"a learning rate of {max(known):.3g} raises the loss from {losses[0][1]:.4g} to "
        f"{most:.4g} within {counted(step, 'step')}",
        "lower the learning rate, or let it rise from 0 in the first steps",
    )


def clipped_to(report: Report, training: TrainingInfo) -> float | None:
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
