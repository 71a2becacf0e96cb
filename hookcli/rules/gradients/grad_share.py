"""`grad_share`: a part of the model has about the given share of the norm of all gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

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
from hookcli.spec.checks import BACKWARD

FACTOR = 10.0


def norm_of(rows: Iterable[ParameterRow]) -> float | None:
    """Return the 2-norm of the gradients of parameters; None if one is not a finite number."""
    norms = []
    for row in rows:
        norm = None if row.grad is None else row.grad.get("norm")
        if isinstance(norm, str):
            return None
        norms.append(float(norm or 0.0))
    whole = math.hypot(*norms)
    return whole if math.isfinite(whole) else None


def share_of(report: Report, globs: Iterable[str]) -> float | None:
    """Return the norm of the gradients of a part, relative to that of all gradients."""
    part, total = norm_of(parameters_at(report, globs)), norm_of(report.parameters)
    return None if part is None or not total else part / total


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the share is smaller or larger by more than the factor."""
    globs = options["at"]
    rows = list(parameters_at(report, globs))
    if all(row.status is None for row in report.parameters):
        yield skipped(NO_BACKWARD)
        return
    if not rows:
        yield no_match("parameter", globs)
        return
    share, expected, factor = share_of(report, globs), options["share"], options["within"]
    if share is None:
        yield skipped("the gradients have no finite norm, or all are zero")
        return
    who = globs[0] if len(globs) == 1 else ", ".join(globs)
    summary = f"the gradients of {who} have {share:.3g} of the norm of all gradients"
    if share > expected * factor or share * factor < expected:
        apart = math.inf if not share else max(share / expected, expected / share)
        word = "more" if share > expected else "less"
        times = "" if math.isinf(apart) else f", {apart:.3g} times {word}"
        message = f"{summary}, expected about {expected:.3g}{times}"
        place = places(report).get(owner(rows[0].name))
        yield RuleFinding("fail", who, f"share {word}", message, share, expected, place)
        return
    yield passed(summary, value=share, limit=expected)


RULE = Rule(
    name="grad_share",
    severity="error",
    says="a part of the model has about the given share of the norm of all gradients",
    computes="Divides the 2-norm of the gradients of the parameters that `at` matches by the "
    "2-norm of all gradients, and compares it with `share`. The ratio does not depend on the scale "
    "of the loss. The default factor of 10 leaves room for another seed and another version of "
    "torch.",
    formula="share / within <= norm(gradients at) / norm(all gradients) <= share * within",
    source="torch.nn.utils.clip_grad_norm_ computes the norm of all gradients in the same way",
    fails="a removed residual connection, after which the first layers get a thousandth; a layer "
    "in front of a detach",
    mend="run `hookcli grads` to see the norms of all layers; write the new share if it is meant",
    example='{rule: grad_share, at: "encoder.*", share: 0.2, within: 5}',
    options=(
        RuleOption("at", "globs", "globs of parameter names", required=True),
        RuleOption("share", "number", "share of the norm of all gradients", required=True),
        RuleOption("within", "number", "factor by which it may be smaller or larger", FACTOR),
    ),
    needs=lambda options: (BACKWARD,),
    judge=judge,
)
