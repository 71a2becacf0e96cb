"""`frozen` and `trainable`: the given parameters do not learn, or do."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import ParameterRow, Report
from hookcli.rules.rule import (
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import owner, parameters_at, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "step"
_REACHED = {"ok", "zero", "non_finite"}


def _frozen(row: ParameterRow, changed: bool | None) -> tuple[str, str] | None:
    if changed:
        return "changed", "changed in a step"
    if row.status in _REACHED:
        return "gradient", "got a gradient"
    return None


def _trainable(row: ParameterRow, changed: bool | None) -> tuple[str, str] | None:
    if not row.requires_grad:
        return "frozen", "is frozen: requires_grad is False"
    if row.status == "none":
        return "none", "got no gradient: the loss does not reach it"
    if row.status == "zero":
        return "zero", "got a gradient that is exactly zero"
    if changed is False:
        return "unchanged", "did not change in a step"
    return None


def _judged(report: Report, options: Options, *, frozen: bool) -> Iterator[RuleFinding]:
    rows = list(parameters_at(report, options["at"]))
    if not rows:
        yield no_match("parameter", options["at"])
        return
    if all(row.status is None for row in report.parameters):
        yield skipped(NO_BACKWARD)
        return
    step = {
        measurement.target: measurement.value
        for measurement in report.measurements
        if measurement.probe == PROBE
    }
    if report.training is not None:
        step.update({row.name: row.changed for row in report.training.updates})
    if "" in step:  # not a parameter: the error that the step raised
        message = f"the optimizer step failed: {step['']['error']}"
        yield RuleFinding("error", "", "no step", message, place=step[""]["place"])
        return
    where, healthy = places(report), True
    for row in rows:
        problem = (_frozen if frozen else _trainable)(row, step.get(row.name))
        if problem is not None:
            healthy = False
            place = where.get(owner(row.name))
            yield RuleFinding(
                "fail", row.name, problem[0], f"{row.name} {problem[1]}", None, None, place
            )
    if healthy:
        word = "did not learn" if frozen else "learned"
        yield passed(f"{counted(len(rows), 'parameter')} {word}")


_AT = (RuleOption("at", "globs", "globs of parameter names", required=True),)

FROZEN = Rule(
    name="frozen",
    severity="error",
    says="the given parameters get no gradient and do not change in a step",
    computes="Checks the gradients after the backward pass. Then takes one step with an optimizer "
    "(run.optimizer, else SGD) over all parameters that require grad, and checks which parameters "
    "change.",
    formula="grad is None and p after = p before",
    source="torcheck",
    fails="a backbone that is not frozen before the optimizer is constructed; an Embedding with "
    "max_norm, which changes its weight in forward",
    mend="call requires_grad_(False) on it, after loading and before training",
    example='{rule: frozen, at: "backbone.*"}',
    options=_AT,
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    judge=lambda report, options: _judged(report, options, frozen=True),
)

TRAINABLE = Rule(
    name="trainable",
    severity="error",
    says="the given parameters get a gradient and change in a step",
    computes="The opposite of `frozen`: each parameter must require grad, get a gradient that is "
    "not all zeros, and change in one optimizer step.",
    formula="max |grad| > 0 and p after != p before",
    source="torcheck",
    fails="a layer whose output is detached; a parameter in a plain list",
    mend="use it in the loss; register it, so that model.parameters() contains it",
    example='{rule: trainable, at: ["head.*", "*.lora_*"]}',
    options=_AT,
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    judge=lambda report, options: _judged(report, options, frozen=False),
)
