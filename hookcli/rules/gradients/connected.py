"""`connected`: the gradient of the loss reaches the outputs of the given layers."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.path_ends.end_rows import CUT, LAYER
from hookcli.report.report import Report
from hookcli.rules.gradients.cut_advice import NOT_MEASURED, rows_of, why_not
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, no_match, passed, skipped
from hookcli.rules.select import matches, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer that the loss is not connected to."""
    measured, rows = rows_of(report, CUT), rows_of(report, LAYER)
    problem = None if measured is None else why_not(measured)
    if problem is not None:
        yield skipped(problem)
        return
    if rows is None:
        yield skipped(NOT_MEASURED)
        return
    wanted = [row for row in rows if any(matches(glob, row.target) for glob in options["at"])]
    if not wanted:
        yield no_match("module", options["at"])
        return
    where = places(report)
    apart = [row.target for row in reversed(rows) if row in wanted and row.value is False]
    for name in apart:  # the last call is the nearest to the loss
        who = f"'{name}'" if name else "the model"
        message = f"no gradient of the loss reaches the output of {who}"
        yield RuleFinding("fail", name, "not connected", message, False, True, where.get(name))
    if not apart:
        yield passed(f"a gradient reaches {counted(len(wanted), 'layer')}")


RULE = Rule(
    name="connected",
    severity="error",
    says="the gradient of the loss reaches the outputs of the given layers",
    computes="The model runs once more. A layer is connected if the autograd graph behind the loss "
    "contains the node of a tensor that one of its calls returned. Layers without parameters, and "
    "frozen layers in front of trainable ones, can be checked too.",
    formula="node(output) in graph(loss)",
    source="torch.autograd.graph: backward visits exactly these nodes",
    fails="a head whose output the loss does not use; a layer in front of detach()",
    mend="use the output in the loss, or remove what cuts it off: see grad_cuts",
    example='{rule: connected, at: ["encoder.*", head]}',
    options=(RuleOption("at", "globs", "globs of module names", required=True),),
    needs=lambda options: (BACKWARD, request_probe(CUT)),
    judge=judge,
)
