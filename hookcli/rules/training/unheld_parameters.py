"""`unheld_parameters`: an optimizer holds each trainable parameter that gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator

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
from hookcli.rules.select import matches, owner, places
from hookcli.rules.training.series import NO_OPTIMIZER, statuses
from hookcli.text import counted, join_names

_ZEROS = {"none", "zero", "frozen"}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding for all trainable parameters that no optimizer of the script holds."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    if training.optimizer is None:
        yield skipped(NO_OPTIMIZER)
        return
    rows = {row.name: row for row in report.parameters}
    thawed = dict((training.settings and training.settings.thawed) or ())
    names = []
    for name in training.unheld:
        known = [status for _, status in statuses(rows[name])] if name in rows else []
        useless = name not in thawed and bool(known) and set(known) <= _ZEROS  # only unused
        if not useless and any(matches(glob, name) for glob in options["at"]):
            names.append(name)
    if not names:
        yield passed("an optimizer has each trainable parameter that gets a gradient")
        return
    where = places(report)
    modules = list(dict.fromkeys(owner(name) for name in names))
    who = join_names([f"'{name}'" for name in names], 2)
    if len(modules) > 1:
        quoted = join_names([f"'{module or 'the model'}'" for module in modules], 2)
        who = f"{counted(len(names), 'parameter')} of {quoted}"
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    since = min((thawed[name] for name in names if name in thawed), default=None)
    when = "" if since is None or len(thawed) < len(names) else f" from step {since:,} on"
    message = f"{who} {verb} trainable{when}, but in no optimizer: no step changes {them}"
    lines = training.lines
    place = None if lines is None else lines.optimizer
    if place is None:
        place = next((where[m] for m in modules if m in where), report.model.place)
    advice = (
        f"pass {them} to the optimizer, or call `requires_grad_(False)` on {them}, which also "
        "saves the backward pass"
    )
    if when:
        advice = f"pass {them} to the optimizer with `add_param_group` when they are unfrozen"
    yield RuleFinding(
        "fail", names[0], "unheld", message, len(names), 0, place, advice=advice,
    )  # fmt: skip


RULE = Rule(
    name="unheld_parameters",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="optimizers",
    says="an optimizer has each trainable parameter that gets a gradient",
    computes="Compares the parameters of the model that require grad with those of all optimizers "
    "of the script. Those that never get a gradient are left to `grad_exists`. Parameters that are "
    "unfrozen while the model is trained count from the step in which they get a gradient.",
    formula="requires_grad and grad is not None implies that an optimizer has the parameter",
    source="torch.optim.Optimizer: it changes only the parameters that it was constructed with",
    fails="a layer that is added after the optimizer was constructed; a backbone that should be "
    "frozen, but still computes gradients; a new nn.Parameter in the place of an old one",
    mend="construct the optimizer last, from model.parameters(); freeze what it should not train",
    example='{rule: unheld_parameters, at: "head.*", severity: error}',
    options=(RuleOption("at", "globs", "globs of parameter names", ("*",)),),
    judge=judge,
)
