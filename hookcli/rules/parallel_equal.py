"""`parallel_equal`: a parallel plan computes what the model computes on one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.spec.checks import ProbeRequest, request_probe

PROBE = "parallel_equal"
_ADVICE = "run `hookcli diff` with the plan for the tensors of each layer"


def request_of(options: Options) -> ProbeRequest:
    """Return the request for the ranks that a check needs."""
    return request_probe(
        PROBE, plan=options["plan"], mesh=options["mesh"], tolerance=options["tolerance"]
    )


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding: the layer or parameter that differs first."""
    value = _measured(report, options)
    if value is None:
        yield skipped("no ranks ran the plan: only `hookcli check` starts them")
    elif value["error"] is not None:
        yield RuleFinding("error", "", "not run", value["error"], place=value["place"])
    elif value["equal"]:
        yield passed(value["sentence"])
    else:
        named = value["named"]
        yield RuleFinding(
            "fail", named[0] if named else "", "differs", value["sentence"], value["relative"],
            value["limit"], value["place"], advice=_ADVICE,
        )  # fmt: skip


def _measured(report: Report, options: Options) -> dict[str, Any] | None:
    for measurement in report.measurements:
        value = measurement.value
        if measurement.probe == PROBE and (value["plan"], value["mesh"]) == (
            options["plan"], options["mesh"],
        ):  # fmt: skip
            return dict(value)
    return None


RULE = Rule(
    name="parallel_equal",
    severity="error",
    says="a parallel plan has the outputs and gradients of the model on one process",
    computes="Runs the model once, and its plan on gloo ranks of this machine, with the same "
    "weights and batch, in eval mode. What the ranks have is joined; outputs, values and gradients "
    "of parameters are compared. The first layer or parameter that differs is named.",
    formula="|joined - reference| / |reference| <= tolerance",
    source="torch.distributed.tensor: full_tensor defines the whole of what ranks have",
    fails="a norm that is left out of a sequence parallel plan, whose gradients nothing sums up; a "
    "reduction that is missing or done twice",
    mend="add the module to the plan, or correct the placements of its inputs and outputs",
    example="{rule: parallel_equal, plan: 'plan.py:apply', mesh: 'tp:2'}",
    options=(
        RuleOption(
            "plan", "function", "apply(model, mesh), which returns the model", required=True
        ),
        RuleOption("mesh", "mesh", "the dimensions of the mesh with their sizes", required=True),
        RuleOption("tolerance", "number", "largest relative difference"),
    ),
    needs=lambda options: (request_of(options),),
    judge=judge,
)
