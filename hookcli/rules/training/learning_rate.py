"""`learning_rate`: the learning rate is above zero in most steps."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.steps import RateChange, TrainingInfo
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.training.series import largest_rate, real, script_line
from hookcli.text import counted

GROWS = "learning_rate_grows"  # a cause of divergence
_SHARE = 0.5
_TINY = 1e-8  # of the largest
_LEAST = 2  # steps: the first step of a warm-up has a rate of 0
# Optimizers whose step is about as large as the learning rate, whatever the gradient is.
_ADAPTIVE = {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop"}
_CHANGED, _MANY = 5, 40  # changes of rates, and steps
_LOST, _STAYS = 1e-3, 0.1  # of the first rate of a group
_LARGE, _TIMES = 0.1, 300.0  # a learning rate of these, and of the one of the first group
_FEW, _PART = 5, 0.1  # steps with a rate that has collapsed, and their share of all steps


def _weighted(training: TrainingInfo) -> list[tuple[int, float, int]]:
    """Return known steps with their rate, and how many steps until the next known one.

    A step that nothing is known of is not counted if it was not watched.
    """
    rows = [(row.step, rate) for row in training.steps if (rate := largest_rate(row)) is not None]
    if training.unwatched:
        return [(step, rate, 1) for step, rate in rows]
    ends = [*(step for step, _ in rows[1:]), training.total]
    return [(step, rate, end - step) for (step, rate), end in zip(rows, ends, strict=False)]


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the learning rate is zero, or nearly, in most steps."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    far = _far(training)
    if far is not None:
        change, message = far
        place = script_line(report, "optimizer")
        yield RuleFinding(
            "fail", "", "far", message, change.after, change.before, place,
            cause="learning_rate_zero" if change.low is not None else GROWS, step=change.last,
            advice=_ADVICE,
        )  # fmt: skip
        return
    rates = _weighted(training)
    if not rates:
        yield skipped("no learning rate is known")
        return
    largest = max(abs(rate) for _, rate, _ in rates)
    dead = [(step, many) for step, rate, many in rates if abs(rate) <= _TINY * largest]
    count, known = sum(many for _, many in dead), sum(many for *_, many in rates)
    if not dead or count < _LEAST or count <= options["share"] * known:
        apart = _apart(training)
        if apart is not None:
            yield RuleFinding(
                "fail", "", "apart", apart, largest, _LARGE, script_line(report, "optimizer"),
                severity="warning", advice="check the `lr` of each group of the optimizer",
            )  # fmt: skip
            return
        sunk = _sunk(training)
        if sunk is not None:
            yield RuleFinding(
                "fail", "", "sunk", sunk, 0, 1, script_line(report, "optimizer"),
                severity="warning", advice="check what changes the `lr` of the groups: a factor of "
                "a group must be multiplied once, not in each step",
            )  # fmt: skip
            return
        low = min(rate for _, rate, _ in rates)
        yield passed(f"the learning rate is between {low:.3g} and {largest:.3g}")
        return
    step = dead[0][0]
    if largest:
        zero = all(rate == 0 for _, rate, _ in rates if abs(rate) <= _TINY * largest)
        what = "0" if zero else f"less than {_TINY:g} of its largest value"
        message = f"the learning rate is {what} in {count:,} of {known:,} steps, from step {step:,}"
    else:
        message = f"the learning rate is 0 in all {known:,} steps: they change no parameter"
    yield RuleFinding(
        "fail", "", "zero", message, count, options["share"], script_line(report, "optimizer"),
        cause="learning_rate_zero", step=step, advice=_ADVICE,
    )  # fmt: skip


def _sunk(training: TrainingInfo) -> str | None:
    """Return a sentence about groups whose rates fall to nothing early, where another's stays."""
    settings = training.settings
    if settings is None or len(settings.rates) < _CHANGED or settings.steps < _MANY:
        return None
    rows = [(step, [real(rate) for rate in rates]) for step, rates in settings.rates]
    first, last = rows[0][1], rows[-1][1]
    if len(first) != len(last) or None in first or None in last:
        return None
    pairs = [(abs(a or 0.0), abs(b or 0.0)) for a, b in zip(first, last, strict=True)]
    between = [
        {abs(rates[i] or 0.0) for _, rates in rows if i < len(rates)} for i in range(len(pairs))
    ]
    sunk = [  # not those that the script sets to 0
        i
        for i, (a, b) in enumerate(pairs)
        if b <= _LOST * a and any(0 < rate <= _LOST * a for rate in between[i])
    ]
    kept = [i for i, (a, b) in enumerate(pairs) if b >= _STAYS * a > 0]
    since = [
        step
        for step, rates in rows
        if any(abs(rates[i] or 0.0) <= _LOST * pairs[i][0] for i in sunk)
    ]
    if not kept or not since or since[0] > _SHARE * settings.steps:
        return None
    return (
        f"{counted(len(sunk), 'group')} of the optimizer, of {len(pairs)}, lose 99.9 % of the "
        f"learning rate, the first until step {since[0]:,}, and the others keep theirs"
    )


def _apart(training: TrainingInfo) -> str | None:
    """Return a sentence about a group whose rate is too large for Adam, and not the first one's."""
    optimizer = training.optimizer
    if optimizer is None or optimizer.type not in _ADAPTIVE or optimizer.groups < _LEAST:
        return None
    pairs = [(real(row.lr), real(row.largest_lr)) for row in training.steps]
    known = [(first, most) for first, most in pairs if first and most is not None]
    apart = [(first, most) for first, most in known if most >= max(_LARGE, _TIMES * first)]
    if len(apart) <= len(known) / 2:
        return None
    first, most = max(apart, key=lambda pair: pair[1])
    return (
        f"a group of {optimizer.type} has a learning rate of {most:.3g}, {most / first:,.0f} times "
        "that of the first group"
    )


def _far(training: TrainingInfo) -> tuple[RateChange, str] | None:
    """Return a rate that collapses or grows by far within few of its changes, with a sentence."""
    settings = training.settings
    for change in (settings.far or ()) if settings is not None else ():
        before, after = real(change.before), real(change.after)
        if settings is None or before is None or after is None:
            continue
        many = training.optimizer is not None and training.optimizer.groups > 1
        which = f" of group {change.group}" if many else ""
        span = f"from {before:.3g} at step {change.first:,} to {after:.3g} at step {change.last:,}"
        if change.low is not None and change.low >= max(_FEW, _PART * settings.steps):
            return change, (
                f"the learning rate{which} falls {span}: {change.low:,} of {settings.steps:,} "
                "steps change nothing"
            )
        if change.low is None:
            return change, f"the learning rate{which} grows {span}"
    return None


_ADVICE = "check the `lr` of the optimizer, and how often the scheduler makes a step"

RULE = Rule(
    name="learning_rate",
    severity="error",
    of_training=True,
    every_step=True,
    looks_at="optimizers",
    says="the learning rate is above zero in most steps of a training",
    computes="Counts the steps in which the learning rate of all groups of the optimizer is 0, or "
    "below 1e-8 of its largest value. A warm-up may begin with 0, and a schedule may end with it: "
    "they fail only if that takes more than the given share of the steps. Between 20 of its "
    "changes, the rate of a group also must not fall below 1e-8 of itself, without being 0, for a "
    "tenth of the steps, and must not grow to 0.5 or more and to a thousand times the first rate. "
    "With Adam and its like, no group may have a rate of 0.1 or more that is 300 times that of the "
    "first group, in more than half of the steps: a warning. So are groups that lose 99.9 % of "
    "their rate, the first before half of the steps, if another group keeps a tenth of its own.",
    formula="share of steps with lr <= 1e-8 max(lr) <= share",
    source="torch.optim.lr_scheduler: a schedule counts calls of scheduler.step",
    fails="optim.SGD(model.parameters(), lr=0); StepLR(step_size=1) with a step for each batch",
    mend="set lr above 0; call scheduler.step as often as the schedule was made for",
    example="{rule: learning_rate, share: 0.2}",
    options=(RuleOption("share", "number", "the largest share of such steps, 0 to 1", _SHARE),),
    judge=judge,
)
