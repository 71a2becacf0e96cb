"""`unchanged_parameters` and `lost_updates`: the steps of an optimizer change its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import ParameterRow, Report
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
from hookcli.rules.select import (
    matches,
    modules_above,
    owner,
    places,
    runs_in_another,
    weight_of,
)
from hookcli.rules.training.series import (
    BEFORE_WARMUP,
    cancelled,
    is_before_warmup,
    largest_rate,
    real,
    skipped_steps,
    statuses,
    without_sum,
)
from hookcli.text import counted, join_names

GRADIENT = "grad_exists"  # the rule that finds the cause of some of these findings
_HALF = 0.5  # the share for a note
_SHARE = 0.9  # of elements that a step leaves as they were
_ELEMENTS = 16
_LEAST = 2  # steps between which a parameter can change
_SHORT = {"bfloat16", "float16"}  # dtypes in which a small update is lost by rounding
# The reason: why, what to try, and the cause if another rule finds it too.
_REASONS = {
    "none": ("no gradient reaches {them}", "use {them} in the loss, or freeze {them}", GRADIENT),
    "zero": ("the gradients of {them} are zero", "check what multiplies the results", GRADIENT),
    "lr": (
        "the learning rate is 0",
        "set a learning rate above 0, and check the scheduler",
        "learning_rate_zero",
    ),
    "rounding": (
        "updates are lost in the rounding of {dtype}",
        "keep the parameters in float32 and use `torch.autocast`, or raise the learning rate",
        "",
    ),
    "restored": (
        "the script sets {them} back after each step",
        "find the code that writes the values, such as load_state_dict or copy_",
        "",
    ),
    "other": (
        "gradients reach {them}, but no update does",
        "check the learning rate of the group in the optimizer, and code that writes the values",
        "",
    ),
}


def _reason(row: ParameterRow | None, training: TrainingInfo) -> str:
    aside = skipped_steps(training)
    known = {status for step, status in statuses(row) if step not in aside} if row else set()
    if known and known <= {"none", "frozen"}:
        return "none"
    if known and known <= {"none", "zero", "frozen"}:
        return "zero"
    steps = [step for step in training.steps if not step.skipped]
    rates = [rate for step in steps if (rate := largest_rate(step)) is not None]
    if rates and not any(rates):
        return "lr"
    return "rounding" if row is not None and row.dtype in _SHORT else "other"


def _is_just_reached(row: ParameterRow | None, training: TrainingInfo) -> bool:
    """Return whether the gradient of a parameter is 0 at first, and not in the last sampled step.

    So it is behind weights that begin with 0: what the first steps have made of them is small.
    """
    aside = skipped_steps(training)
    known = [status for step, status in statuses(row) if step not in aside] if row else []
    return known[:1] == ["zero"] and known[-1] == "ok"


def _compared(training: TrainingInfo, made: int) -> str:
    """Return the steps between whose parameters the comparison is."""
    first, last = training.sampled[0], training.sampled[-1]
    if last + 1 >= training.total:
        return counted(made, "step")
    return f"steps {first} to {last}"


def _is_used_elsewhere(report: Report, row: ParameterRow) -> bool:
    """Return whether another phase of the script trains a parameter, or another module its part.

    A status of "ok" without one at a step is that of the other phase.
    """
    if row.status == "ok":
        return True
    above = {one.name for one in report.uncalled if one.name}.intersection(modules_above(row.name))
    return any(runs_in_another(report, name) is not None for name in above)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each reason of parameters that no step changed."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    made = training.total - training.skipped
    known = [row for row in training.updates if row.changed is not None]
    if training.optimizer is None or made < _LEAST or not known:
        yield skipped("no two steps of an optimizer were compared")
        return
    if is_before_warmup(training):
        yield skipped(BEFORE_WARMUP)
        return
    rows = {row.name: row for row in report.parameters}
    aside = cancelled(report) | without_sum(report)
    groups: dict[str, list[str]] = {}
    changed = {update.name for update in known if update.changed and not update.restored}
    alone = training.optimizer.groups == 1
    for update in known:
        row = rows.get(update.name)
        frozen = row is not None and not (row.requires_grad and row.numel)
        if frozen or update.name in aside or (update.changed and not update.restored):
            continue
        if any(matches(glob, update.name) for glob in options["at"]):
            reason = "restored" if update.restored else _reason(row, training)
            if reason == "other" and alone and weight_of(update.name) in changed:
                continue  # its gradient cancels nearly: a rate that is too small is that of both
            if reason == "other" and _is_just_reached(row, training):
                continue
            if reason == "none" and row is not None and _is_used_elsewhere(report, row):
                continue
            groups.setdefault(reason, []).append(update.name)
    where = places(report) if groups else {}
    for reason, names in groups.items():
        why, advice, cause = _REASONS[reason]
        first = rows.get(names[0])
        dtype, them = ("" if first is None else first.dtype), "it" if len(names) == 1 else "them"
        who = join_names([f"'{name}'" for name in names], 2)
        verb = "does" if len(names) == 1 else "do"
        message = f"{who} {verb} not change in {_compared(training, made)}: "
        message += why.format(dtype=dtype, them=them)
        yield RuleFinding(
            "fail", names[0], reason, message, len(names), 0, where.get(owner(names[0])),
            cause=cause, advice=advice.format(them=them),
        )  # fmt: skip
    if not groups:
        yield passed(f"{counted(len(known), 'parameter')} change in {_compared(training, made)}")


RULE = Rule(
    name="unchanged_parameters",
    severity="warning",
    of_training=True,
    looks_at="updates",
    says="the steps of an optimizer change its parameters",
    computes="Compares the bits of each trainable parameter of the optimizer between the first and "
    "the last sampled step. The finding tells why a parameter does not change: it gets no "
    "gradient, or only zeros; the learning rate is 0; or its dtype has so few bits that adding the "
    "update gives the same number. Frozen parameters are not judged, nor those "
    "whose gradients cancel, as of a bias in front of a batch norm or at the end of a critic.",
    formula="bits(p after the last sampled step) != bits(p before the first)",
    source="torcheck; Zamirai et al. 2020, Revisiting BFloat16 Training, for lost updates",
    fails="a model in bfloat16 with Adam and a learning rate of 1e-5; weights that are loaded "
    "again in each epoch; a parameter group with lr=0",
    mend="check the gradient, the learning rate of the group and the dtype; keep a float32 copy of "
    "the weights",
    example='{rule: unchanged_parameters, at: "encoder.*"}',
    options=(RuleOption("at", "globs", "globs of parameter names", ("*",)),),
    judge=judge,
)


def _lost(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding for all parameters of which steps change nearly no element."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    rows = {row.name: row for row in report.parameters}
    known = [
        (update, share)
        for update in training.updates
        if (share := real(update.kept)) is not None
        and update.name in rows
        and (rows[update.name].numel or 0) >= _ELEMENTS
    ]
    if not known:
        yield skipped("no parameter in bfloat16 or float16 was compared before and after a step")
        return
    lost = [(update, share) for update, share in known if share >= options["share"]]
    is_half = not lost
    lost = lost or [(update, share) for update, share in known if share >= _HALF]
    if not lost or not any(update.changed for update, _ in lost):  # unchanged_parameters tells it
        yield passed(f"steps change up to {1 - min(share for _, share in known):.0%} of elements")
        return
    names = [update.name for update, _ in lost]
    share = min(share for _, share in lost)
    dtype = rows[names[0]].dtype
    who = join_names([f"'{name}'" for name in names], 2)
    message = (
        f"each step leaves {share:.0%} or more of the elements of {who} as they were: updates are "
        f"lost in the rounding of {dtype}"
    )
    yield RuleFinding(
        "fail", names[0], "rounding", message, share, _HALF if is_half else options["share"],
        places(report).get(owner(names[0])), severity="note" if is_half else None, advice=_ROUNDED,
    )  # fmt: skip


_ROUNDED = "keep the parameters in float32 and use `torch.autocast`, or raise the learning rate"

LOST = Rule(
    name="lost_updates",
    severity="warning",
    of_training=True,
    looks_at="updates",
    says="updates are not lost in the rounding of a short dtype",
    computes="Counts, in sampled steps, the elements of parameters in bfloat16 and float16 that "
    "have a gradient and the same bits after the step. Fails if their share is at least `share` in "
    "each of these steps; half of them is a note. A parameter that changes not at all is for "
    "`unchanged_parameters`. Only optimizers of torch.optim are judged: others may round at "
    "random, or keep what is lost.",
    formula="share of (p after = p before, for p.grad != 0) < share, in some sampled step",
    source="Zamirai et al. 2020, Revisiting BFloat16 Training",
    fails="a model in bfloat16 with Adam and a learning rate of 1e-5",
    mend="keep the parameters in float32, and use torch.autocast",
    example="{rule: lost_updates, share: 0.5}",
    options=(RuleOption("share", "number", "the least share of such elements, 0 to 1", _SHARE),),
    judge=_lost,
)
