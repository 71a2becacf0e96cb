"""`grad_cuts`: gradients are cut only where the check allows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.path_ends.end_rows import CUT, cuts_of, key_of
from hookcli.report.path_ends.end_sentences import end, operator, quoted
from hookcli.report.report import Report
from hookcli.rules.gradients.cut_advice import NOT_MEASURED, advice, rows_of, why_not
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each cut that is not allowed, and, if `exact`, for each that is gone."""
    rows = rows_of(report, CUT)
    if rows is None:
        yield skipped(NOT_MEASURED)
        return
    problem = why_not(rows)
    if problem is not None:
        yield skipped(problem)
        return
    cuts = [cut for cut in cuts_of(report) if matches(options["at"], cut["layer"] or "")]
    findings = [_finding(cut) for cut in cuts if not _allowed(cut, options)]
    if options["exact"]:
        findings += [
            _gone(glob)
            for glob in options["allow"]
            if not any(matches(glob, key_of(cut)) for cut in cuts)
        ]
    yield from findings
    if not findings:
        allowed = f" ({counted(len(cuts), 'cut')} allowed)" if cuts else ""
        yield passed(f"no operator cuts a gradient on the way to the loss{allowed}", limit=0)


def _allowed(cut: Mapping[str, Any], options: Options) -> bool:
    return any(matches(glob, key_of(cut)) for glob in options["allow"])


def _finding(cut: Mapping[str, Any]) -> RuleFinding:
    message = f"{end(cut)}: no gradient of {quoted(cut['behind'])} flows through it"
    kind = f"cut by {cut['operator']}"
    return RuleFinding(
        "fail", cut["layer"] or "", kind, message, place=cut["place"], advice=advice(cut)
    )


def _gone(glob: str) -> RuleFinding:
    layer, _, name = glob.rpartition(":")
    where = f"in '{layer}'" if layer else "in the model's own code"
    shown = operator({"operator": name, "module": "", "layer": layer})
    message = f"{shown} {where} no longer cuts the gradient, which now flows on"
    return RuleFinding("fail", layer, f"no cut by {name}", message)


RULE = Rule(
    name="grad_cuts",
    severity="error",
    says="gradients are cut only where the check allows it",
    computes="The model runs once more, and every operator is followed, as for grad_path. Each "
    "operator whose argument requires grad and whose result does not is a cut, if the values of "
    "the loss depend on that result. It is a finding also if the parameters behind it get their "
    "gradient on another path. `allow` lists cuts as LAYER:OPERATOR.",
    formula="requires_grad(argument) and not requires_grad(result) and the loss depends on result",
    source="torch.autograd: a gradient flows through a result only if it requires grad",
    fails="relu(x.detach() + y); a mask computed from activations; argmax in a router",
    mend="remove the operator, or add it to `allow` if the gradient should stop there",
    example='{rule: grad_cuts, allow: ["quantizer:detach"], exact: true}',
    options=(
        RuleOption("at", "glob", "glob of the modules whose code is checked", "*"),
        RuleOption("allow", "globs", "globs of LAYER:OPERATOR, as in quantizer:detach", ()),
        RuleOption("exact", "flag", "each allowed cut must exist", False),
    ),
    needs=lambda options: (BACKWARD, request_probe(CUT)),
    judge=judge,
)
