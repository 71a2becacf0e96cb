"""`schedule_steps`, `plateau_mode` and `warmup_restarts`: schedules do what they were made for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hookcli.report.report import Report
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.rules.training.series import largest_rate, real, script_line
from hookcli.text import counted, join_names

_DECAYS = ("StepLR", "MultiStepLR", "ExponentialLR", "MultiplicativeLR", "PolynomialLR")
_TINY = 1e-6  # of the first learning rate: at half of the steps it is below a thousandth
_LEAST = 20  # steps
_EARLY = 0.5  # of the steps
_CLOSE = 0.02  # of the steps: between what a schedule is made for and what an optimizer makes
_UNUSED = "unused_schedule"
_FACTORS = 0.5  # an optimizer with a larger learning rate leaves it to the lambda
_SMALL = 0.05  # factors of a learning rate: of all steps
_TIMES = 4  # how often a schedule runs through
_RESTARTS = 3
_FALL = 0.5  # of a rate, in one step
_GROWN = 1.5  # times the rate of the optimizer
_CALLS = 5
_CUTS = 2
_BESIDE = 2  # calls
_PAST = 1.1  # of the calls that a schedule was made for
_SAME = 1.05  # factor between rates that are the same


def _steps(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each schedule that steps too often, or before the optimizer."""
    facts = facts_of(report, "schedule")
    found = False
    for fact in facts:
        often, far = _too_often(fact), _other_horizon(fact) or _useless(fact, report)
        far = far or _too_fast(fact, report) or _argument(fact) or _rates(fact) or _others(fact)
        if often is not None:
            found = True
            yield RuleFinding(
                "fail", target_of(fact), "often", often, fact.values["calls"],
                fact.values["steps"], fact.place, cause="learning_rate_zero", advice=_OFTEN,
            )  # fmt: skip
        elif far is not None:
            found = True
            message, advice = far
            yield RuleFinding(
                "fail", target_of(fact), "horizon", message, fact.values["calls"],
                fact.values["horizon"], fact.place, "warning", advice=advice,
            )  # fmt: skip
        elif (end := _past_its_end(fact) or _before_its_first(fact, report)) is not None:
            found = True
            message, advice = end
            yield RuleFinding(
                "fail", target_of(fact), "horizon", message, fact.values["calls"],
                fact.values["horizon"], fact.place, "note", advice=advice,
            )  # fmt: skip
        elif not fact.values["before"] and fact.values["calls"] > 1 and fact.values["steps"]:
            found = True
            message = (
                f"{fact.target} steps before its optimizer does: the first learning rate of the "
                "schedule is skipped"
            )
            yield RuleFinding(
                "fail", target_of(fact), "first", message, 0, 1, fact.place, "note",
                advice="call `scheduler.step()` after `optimizer.step()`",
            )  # fmt: skip
    for fact in facts_of(report, _UNUSED):
        if report.script.ended == "completed":
            found = True
            message = (
                f"{fact.target} is constructed and never steps, in {fact.values['steps']:,} steps "
                "of its optimizer: the learning rate stays as it is"
            )
            yield RuleFinding(
                "fail", target_of(fact), "unused", message, 0, fact.values["steps"], fact.place,
                "warning", advice="call `scheduler.step()`, or do not construct it",
            )  # fmt: skip
    if not found:
        yield without_findings(
            report,
            ("schedule",),
            "schedules step as often as they were made for",
            "no learning rate scheduler made a step",
        )


def _too_often(fact: ScriptFact) -> str | None:
    """Return what is said of a schedule that decays in every step until nothing is left."""
    values = fact.values
    first, last = real(values["first"]), real(values["last"])
    if fact.target not in _DECAYS or first is None or last is None or values["steps"] < _LEAST:
        return None
    if values["calls"] < values["steps"] - 1 or abs(last) > _TINY * abs(first):
        return None
    return (
        f"the learning rate decays from {first:.3g} to {last:.3g}: {fact.target} steps with every "
        f"batch, {values['calls']:,} times"
    )


def _too_fast(fact: ScriptFact, report: TrainingReport) -> tuple[str, str] | None:
    """Return what is said of a decay after which most steps change next to nothing."""
    small, steps = fact.values.get("small"), fact.values["steps"]
    if fact.target not in _DECAYS or small is None or steps < _LEAST or small > _EARLY * steps:
        return None
    if report.script.ended != "completed":
        return None
    return (
        f"{fact.target} lowers the learning rate below a thousandth of {fact.values['first']:.3g} "
        f"after {small:,} of {steps:,} steps: the others change next to nothing",
        "pass a larger `gamma`, or lower the rate less often",
    )


def _other_horizon(fact: ScriptFact) -> tuple[str, str] | None:
    """Return what is said of a schedule that was made for epochs and steps with batches.

    Or the other way. The number for which it was made fits that of the steps of the optimizer, or
    it ran through several times with one call for each of them.
    """
    values = fact.values
    horizon, calls, steps = values["horizon"], values["calls"], values["steps"]
    if horizon is None or steps < _LEAST:
        return None
    if calls * 2 <= horizon and abs(horizon - steps) <= _CLOSE * steps:
        return (
            f"{fact.target} is made for {horizon:,} steps, as many as the optimizer makes, and "
            f"steps {calls:,} times: the learning rate ends where a schedule begins",
            "call `scheduler.step()` after each step of the optimizer",
        )
    if calls >= steps - 1 and calls >= _TIMES * horizon:
        return (
            f"{fact.target} is made for {horizon:,} steps, and steps with every batch, "
            f"{calls:,} times: the learning rate falls and rises again and again",
            "call `scheduler.step()` once an epoch, or pass the number of all batches",
        )
    return None


def _useless(fact: ScriptFact, report: TrainingReport) -> tuple[str, str] | None:
    """Return what is said of a schedule of an optimizer that never steps, or of tiny factors."""
    values = fact.values
    if not values["steps"] and values["calls"] > 1 and values.get("others", 0) >= _LEAST:
        return (
            f"{fact.target} sets the learning rate of an optimizer that never steps, in "
            f"{values['calls']:,} calls",
            "pass the optimizer that steps to the scheduler",
        )
    most, base, last = (real(values.get(name)) for name in ("most", "base", "last"))
    if fact.target != "LambdaLR" or not most or not base or last is None:
        return None
    if base >= _FACTORS or most > _SMALL * base or min(values["calls"], values["steps"] / 10) < 3:
        return None
    if last < most:
        return (
            f"the lambda of LambdaLR is a factor of the learning rate {base:.3g}, and at most "
            f"{most / base:.2g}: the learning rate is at most {most:.2g}",
            "pass lr=1 to the optimizer if the lambda returns learning rates",
        )
    if report.script.ended != "completed":
        return None
    return (
        f"the warm-up of LambdaLR does not end in {values['calls']:,} calls: the learning rate is "
        f"at most {most:.2g}, which is {most / base:.2g} of {base:.3g}",
        "count the warm-up in the calls of `scheduler.step()`",
    )


def _argument(fact: ScriptFact) -> tuple[str, str] | None:
    """Return what is said of a schedule that gets a loss in place of an epoch."""
    given = real(fact.values.get("given"))
    if given is None:
        return None
    return (
        f"`step` of {fact.target} gets {given:.4g}, such as a loss, and takes it for the number of "
        "the epoch",
        "call `scheduler.step()` without an argument: ReduceLROnPlateau alone gets a value",
    )


def _rates(fact: ScriptFact) -> tuple[str, str] | None:
    """Return what is said of rates that grow on, compound, or follow single batches."""
    values, kind = fact.values, fact.target
    base, most, last = (real(values.get(name)) for name in ("base", "most", "last"))
    factor, calls, steps = real(values.get("compounds")), values["calls"], values["steps"]
    if kind == "MultiplicativeLR" and factor is not None and factor < 1:
        return (
            f"the factors of MultiplicativeLR are {factor:.3g}, {factor**2:.3g}, {factor**3:.3g} "
            "and so on: it multiplies the rate by all of them, one after another",
            f"return {factor:.3g} each time, or use LambdaLR",
        )
    grows = bool(values.get("rises") and base and most and last and last >= most >= _GROWN * base)
    if kind == "LambdaLR" and grows and base and last and calls >= _CALLS:
        return (
            f"the factor of LambdaLR still grows at the end: the learning rate is {last:.3g} after "
            f"{calls:,} calls, {last / base:.3g} times {base:.3g}",
            "end the warm-up: `min(1.0, (step + 1) / warmup)`",
        )
    often = calls >= steps - 1 and steps >= _LEAST and values["cuts"] >= _CUTS
    if kind == "ReduceLROnPlateau" and often:
        return (
            f"ReduceLROnPlateau steps with every batch, {calls:,} times, and cuts the learning "
            f"rate {values['cuts']:,} times, from {values['first']:.3g} to "
            f"{values['last']:.3g}: its patience counts batches, whose losses differ by chance",
            "call it once an epoch, with the loss of all validation data",
        )
    return None


def _others(fact: ScriptFact) -> tuple[str, str] | None:
    """Return what is said of a schedule that another one follows, or that levels groups."""
    beside, rates = fact.values.get("beside") or 0, fact.values.get("levelled") or []
    if beside >= _BESIDE and fact.target != "SWALR":
        return (
            f"{fact.target} steps {beside:,} times after SWALR has begun: both change the learning "
            "rate, which is not that of SWALR",
            "step SWALR alone once averaging has begun",
        )
    if rates:
        first = [f"{rate:.3g}" for rate in rates]
        return (
            f"{fact.target} gets one max_lr for {len(rates)} groups with the learning rates "
            f"{join_names(first)}: it sets the same rate in all of them",
            "pass a list as `max_lr`, with a rate for each group",
        )
    return None


def _past_its_end(fact: ScriptFact) -> tuple[str, str] | None:
    """Return what is said of a cosine that rises again after the steps it was made for."""
    horizon, calls = fact.values["horizon"], fact.values["calls"]
    if fact.target != "CosineAnnealingLR" or horizon is None or calls <= _PAST * horizon:
        return None
    return (
        f"CosineAnnealingLR is made for {horizon:,} calls, and gets {calls:,}: from its lowest "
        "value on, the learning rate rises again",
        "pass the number of all calls as `T_max`, or use CosineAnnealingWarmRestarts",
    )


def _before_its_first(fact: ScriptFact, report: TrainingReport) -> tuple[str, str] | None:
    """Return what is said of a schedule that ends before its first milestone."""
    milestone, calls = fact.values.get("milestone"), fact.values["calls"]
    if milestone is None or calls < _CALLS or report.script.ended != "completed":
        return None
    return (
        f"MultiStepLR has reached none of its milestones in {calls:,} calls, as the first is "
        f"{milestone:,}: the learning rate stays as it is",
        "count milestones in calls of `scheduler.step()`",
    )


_OFTEN = "call `scheduler.step()` once an epoch, or make the schedule for as many steps"


def _is_held(fact: ScriptFact) -> bool:
    """Return whether the least rate of a schedule is that with which it begins."""
    floor, first = fact.values.get("floor"), fact.values["first"]
    return floor is not None and first is not None and 0 < first <= floor


def _mode(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each ReduceLROnPlateau whose mode or least rate is wrong."""
    facts = [fact for fact in facts_of(report, "schedule") if fact.values.get("mode")]
    held = [fact for fact in facts if _is_held(fact)]
    for fact in held:
        rate = fact.values["first"]
        message = (
            f"{fact.target} cannot lower the learning rate of {rate:.3g}: its min_lr is "
            f"{fact.values['floor']:.3g}"
        )
        yield RuleFinding(
            "fail", target_of(fact), "min_lr", message, fact.values["floor"], rate, fact.place,
            advice="pass a smaller `min_lr`: it is the least learning rate",
        )  # fmt: skip
    if held:
        return
    found = False
    for fact in facts:
        values = fact.values
        wrong = {"loss": "max", "score": "min"}.get(values.get("metric_kind") or "")
        if values["mode"] != wrong or not values["cuts"]:
            continue
        found = True
        right = "min" if wrong == "max" else "max"
        message = (
            f"{fact.target} watches the {values['metric_kind']} '{values['metric']}' in mode "
            f"'{wrong}', and cuts the learning rate when it improves: from {values['first']:.3g} "
            f"to {values['last']:.3g}"
        )
        yield RuleFinding(
            "fail", target_of(fact), "mode", message, values["mode"], right, fact.place,
            advice=f"pass mode='{right}' to {fact.target}",
        )  # fmt: skip
    if not found:
        yield (
            skipped("no ReduceLROnPlateau made a step")
            if not facts and "schedule" in (report.looked_for or {})
            else without_findings(report, ("schedule",), "the modes of ReduceLROnPlateau fit", "")
        )


def _restarts(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the learning rate rises, and falls back to its beginning, again."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    rates = [(row.step, rate) for row in training.steps if (rate := largest_rate(row)) is not None]
    if len(rates) < _LEAST or training.every > 1 or training.unwatched:
        yield skipped("the learning rates of too few steps are known")
        return
    falls = [i for i in range(1, len(rates)) if rates[i][1] < _FALL * rates[i - 1][1]]
    parts = [
        [rate for _, rate in rates[start:end]]
        for start, end in zip([0, *falls], [*falls, len(rates)], strict=True)
    ]
    whole = parts[: options["times"] + 1]
    if len(whole) <= options["times"] or not all(_rises(part, parts[0][0]) for part in whole):
        yield passed(f"the learning rate falls {counted(len(falls), 'time')} at once")
        return
    back = [f"{rates[i][0]:,}" for i in falls]
    message = (
        f"the warm-up of the learning rate restarts {counted(len(falls), 'time')}, at step "
        f"{join_names(back)}: it rises to {max(parts[0]):.3g}, and falls back to {parts[1][0]:.3g}"
    )
    place = script_line(report, "optimizer")
    yield RuleFinding(
        "fail", "", "restarts", message, len(falls), options["times"], place,
        step=rates[falls[0]][0],
        advice="count the steps of the warm-up over all epochs",
    )  # fmt: skip


def _rises(rates: list[float], lowest: float) -> bool:
    """Return whether rates begin with the lowest one, and only rise, to more than twice of it."""
    return (
        len(rates) > 2
        and rates[0] <= _SAME * lowest
        and rates[-1] > 2 * rates[0]
        and all(later >= rate for rate, later in pairwise(rates))
    )


STEPS = Rule(
    name="schedule_steps",
    severity="error",
    of_training=True,
    every_step=True,
    looks_at="schedules",
    says="a schedule that decays the learning rate steps as often as it was made for",
    computes="Counts the steps of each scheduler and of its optimizer. Fails if a StepLR, "
    "MultiStepLR, ExponentialLR, MultiplicativeLR or PolynomialLR stepped with every step of the "
    "optimizer, and the learning rate at the end is below 1e-6 of the first. Others, such "
    "as a cosine to 0, are made to end there. It is a warning if a OneCycleLR or CosineAnnealingLR "
    "was made for as many steps as the optimizer makes, and makes half of them or less, or if it "
    "steps with every batch and runs through at least four times; if a scheduler never steps "
    "in 60 steps of its optimizer, or its optimizer never does; and if the factors of a LambdaLR "
    "are all below 0.05; and if a decay is below a thousandth of the first rate before half of the "
    "steps. So is a `step` that gets a number with a fraction in place of an epoch; factors of "
    "MultiplicativeLR that are powers of the first; a LambdaLR that still grows at the end, to 1.5 "
    "times its rate or more; a ReduceLROnPlateau that steps with every batch and cuts the rate "
    "twice; a schedule that goes on stepping beside SWALR; and a OneCycleLR with one max_lr for "
    "groups that had different rates. A note is a cosine that continues after its end, a "
    "MultiStepLR that ends before its first milestone, and a schedule that steps before its "
    "optimizer does.",
    formula="calls < steps, or last rate > 1e-6 * first rate",
    source="torch.optim.lr_scheduler: step_size and milestones count calls of scheduler.step",
    fails="StepLR(step_size=10) for ten epochs, with scheduler.step() in the loop over batches",
    mend="call scheduler.step() at the end of each epoch, or count the schedule in batches",
    example="{rule: schedule_steps, severity: warning}",
    judge=judge_nothing,
    judge_run=_steps,
)

MODE = Rule(
    name="plateau_mode",
    severity="warning",
    of_training=True,
    looks_at="schedules",
    says="ReduceLROnPlateau has the mode of the value that it watches",
    computes="Looks at the value that the script passes to ReduceLROnPlateau.step, in the source "
    "of the line. A loss is what a loss function of PyTorch returned, or a variable named so; a "
    "score is a variable named accuracy, f1, auc and the like. Fails if a loss is watched in mode "
    "'max', or a score in mode 'min', and the learning rate was cut. Other values are not judged. "
    "Fails too if `min_lr` is not below the first learning rate.",
    formula="mode = min for a loss, max for a score",
    source="torch.optim.lr_scheduler.ReduceLROnPlateau: in mode min, it waits for smaller values",
    fails="ReduceLROnPlateau(optimizer, 'max') with scheduler.step(validation_loss)",
    mend="pass mode='min' for a loss, and mode='max' for an accuracy",
    example="{rule: plateau_mode, severity: error}",
    judge=judge_nothing,
    judge_run=_mode,
)

RESTARTS = Rule(
    name="warmup_restarts",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="schedules",
    says="the warm-up of a learning rate runs once",
    computes="Looks at the learning rate of each step. Fails if it rises from its lowest value, "
    "without falling in between, and falls back to that at once, at least `times` times. Warm "
    "restarts rise at once and fall slowly, and a cycle falls as slowly as it rises.",
    formula="not (rates rise; next rate = first rate), repeated",
    source="Goyal et al. 2017, Accurate, Large Minibatch SGD: warm-up over the first epochs",
    fails="lr = base * step_in_epoch / warmup_steps, with a warm-up of several epochs",
    mend="count the steps over all epochs: epoch * steps_per_epoch + step",
    example="{rule: warmup_restarts, times: 2}",
    options=(RuleOption("times", "count", "the least number of restarts", _RESTARTS),),
    judge=_restarts,
)
