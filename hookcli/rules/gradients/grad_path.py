"""`grad_path`: no operator cuts trainable parameters off from the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_rows import REASON
from hookcli.report.path_ends.end_sentences import end, module, quoted
from hookcli.report.report import Report
from hookcli.rules.gradients.cut_advice import NOT_MEASURED, advice, rows_of, why_not
from hookcli.rules.rule import (
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    skipped,
)
from hookcli.rules.select import modules_above, parameters_at, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted, pluralize

CUT_OFF, ROUNDED = "cut_off", "rounded_gradient"
COPY = "target_network"  # a cause that is no problem
_LOST = {"none", "zero"}
# An operator is the reason. The others are told with `all`: the model may be meant so.
_BY_OPERATOR = {"cut", "swallowed", "left", "rounding"}
_PASSED = passed("no operator cuts a trainable parameter off from the loss", value=0, limit=0)
_CAUSES = {"rounding": ROUNDED, **dict.fromkeys(("cut", "swallowed", "left"), CUT_OFF)}


def reasons(report: Report) -> list[Measurement]:
    """Return why parameters got no gradient, if that was measured."""
    return [row for row in rows_of(report, REASON) or () if _has_reason(row)]


def _has_reason(row: Measurement) -> bool:
    return isinstance(row.value, Mapping) and "cut_off" in row.value


def cause_of(row: Measurement) -> str:
    """Return the id of the cause that a row of `reasons` tells."""
    if "copy_of" in row.value:
        return COPY
    return _CAUSES.get(row.value["why"], str(row.value["why"]))


def advice_of(row: Measurement) -> str | None:
    """Return what to try."""
    value = row.value
    if value["why"] in {"cut", "left", "cut_output"}:
        return advice(value)
    if value["why"] == "swallowed":
        return advice({**value, "kind": "function"})
    return {
        "rounding": "use a straight-through estimator: `x + (x.round() - x).detach()`",
        "other_output": "add this output to the loss, or select it with `--loss`",
        "unused_output": "use the output, or remove the module",
        "unused": "use it in `forward`, or remove it from the constructor",
    }.get(value["why"])


def _who(value: Mapping[str, Any]) -> str:
    return quoted(value["cut_off"])


def sentence(row: Measurement) -> str:
    """Return what happened, to whom, where and why, as one sentence."""
    value = row.value
    why, who, count = value["why"], _who(value), value["parameters"]
    several = len(value["cut_off"]) > 1
    are = "are" if several else "is"
    so = f"so {counted(count, 'parameter')} {pluralize(count, 'gets', 'get')} no gradient"
    if why == "cut":
        return f"{who} {are} cut off from the loss: {end(value)}, {so}"
    if why == "swallowed":
        place = f" at {value['place']}" if value["place"] else ""
        name = f"the custom function `{value['operator']}`{place}"
        return f"{who} {are} cut off from the loss: {name} passes no gradient on in backward, {so}"
    if why == "left":
        reason = f"{end(value)}, and only Python code reads the result"
        return f"{who} {are} cut off from the loss: {reason}, {so}"
    if why == "rounding":
        place = f" at {value['place']}" if value["place"] else ""
        gets = "get" if several else "gets"
        return (
            f"{who} {gets} a gradient that is exactly zero: the derivative of "
            f"`{value['operator']}`{place} is zero"
        )
    if why == "other_output":
        compute = "compute" if several else "computes"
        return f"the loss does not use output{value['output']}, which {who} {compute}, {so}"
    if why == "cut_output":
        return f"the only output behind {who} has no gradient: {end(value)}, {so}"
    if why == "unused_output":
        return f"nothing that the loss uses depends on the output of {module(value)}, {so}"
    if why == "unused":
        return f"no operator uses the parameters of {who}, {so}"
    return f"the loss does not reach {who}, {so}"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each operator that cuts parameters off."""
    rows = rows_of(report, REASON)
    if rows is None:
        yield _without_rows(report, options)
        return
    problem = why_not(rows)
    if problem is not None:
        yield skipped(problem)
        return
    chosen = {
        part
        for row in parameters_at(report, options["at"])
        for part in (row.name, *modules_above(row.name))
    }
    failing = [
        row
        for row in reasons(report)
        if _counts(row, options) and not chosen.isdisjoint(row.value["cut_off"])
    ]
    where = places(report) if failing else {}
    for row in failing:
        value = row.value
        place = value.get("place") or where.get(row.target)
        kind = f"{value['why']} by {value.get('operator', '')}"
        yield RuleFinding(
            "fail", row.target, kind, sentence(row), value["parameters"], 0, place,
            cause=cause_of(row), advice=advice_of(row),
        )  # fmt: skip
    if not failing:
        yield _PASSED


def _without_rows(report: Report, options: Options) -> RuleFinding:
    if all(row.status is None for row in report.parameters):
        return skipped(NO_BACKWARD)
    chosen = parameters_at(report, options["at"])
    lost = any(row.status in _LOST and row.numel != 0 for row in chosen)
    return skipped(NOT_MEASURED) if lost else _PASSED


def _counts(row: Measurement, options: Options) -> bool:
    """Whether a reason is a finding: a target network is not, whose parameters are a copy."""
    if options["all"]:
        return True
    return row.value["why"] in _BY_OPERATOR and "copy_of" not in row.value


RULE = Rule(
    name="grad_path",
    severity="warning",
    looks_at="gradients",
    says="no operator cuts trainable parameters off from the loss",
    computes="If a trainable parameter got no gradient, or only zeros, the model runs once more, "
    "and every operator is followed: which parameters are behind its result, and whether the "
    "result requires grad. A path ends at an operator whose argument requires grad and whose "
    "result does not, or at a custom Function whose backward returns None. A finding names the "
    "operator, its line, and the parameters that no other path connects to the loss. Parameters "
    "of a copy of another module, as a target network is, are not reported.",
    formula="requires_grad(argument) and not requires_grad(result), on every path from the "
    "parameter to the loss",
    source="torch.autograd: a gradient flows through a result only if it requires grad",
    fails="x.detach() after the encoder; with torch.no_grad() around a layer that should learn; "
    "an argmax; torch.from_numpy(x.detach().numpy())",
    mend="remove the operator, or freeze the parameters in front of it with requires_grad_(False)",
    example='{rule: grad_path, at: ["encoder.*"], severity: error}',
    options=(
        RuleOption("at", "globs", "globs of parameter names", ("*",)),
        RuleOption(
            "all", "flag", "report unused modules and outputs and target networks too", False
        ),
    ),
    needs=lambda options: (BACKWARD, request_probe(REASON)),
    watches=lambda options: (request_probe(REASON),),
    diagnoses=True,
    judge=judge,
)
