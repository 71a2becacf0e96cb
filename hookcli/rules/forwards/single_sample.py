"""`single_sample`: a batch of one sample has the outputs of one."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    passed,
    run_again_failed,
    skipped,
)
from hookcli.rules.select import rows_with
from hookcli.spec.checks import request_probe

CODE, PROBE = "squeezes", "one_sample"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note if one sample loses its dimension, or fails."""
    value = next((m.value for m in report.measurements if m.probe == PROBE), None)
    rows = rows_with(report, CODE, "place")
    if value is None or not rows:
        yield skipped("no code calls `squeeze` without a dimension")
        return
    if "error" in value:
        yield skipped(run_again_failed("eval", value["error"]))
        return
    if "why" in value:
        yield passed(value["why"])
        return
    place = rows[0][1]["place"]
    if "failed" in value:
        effect = f"a batch of one sample fails with {value['failed']}"
    else:
        effect = (
            f"output{value['output']} of one sample has shape {value['of_one']} instead of "
            f"{value['expected']}"
        )
    message = f"`squeeze()` at {place} also removes the dimension of samples: {effect}"
    yield RuleFinding(
        "fail", "", "one sample", message, place=place, severity="note",
        advice="give it a dimension, as in `squeeze(-1)` or `flatten(1)`",
    )  # fmt: skip


RULE = Rule(
    name="single_sample",
    severity="warning",
    diagnoses=True,
    looks_at="samples",
    says="a batch of one sample has the outputs of one sample",
    computes="Only if the code of a class that ran calls `squeeze` without a dimension: runs the "
    "model with the first sample alone. It is a note if that fails, or if an output has fewer "
    "dimensions than that of the batch.",
    formula="f(x[:1]).dim() = f(x).dim()",
    source="torch.squeeze: a batch of size 1 is squeezed, too",
    fails="self.pool(x).squeeze()",
    mend="self.pool(x).flatten(1)",
    example="{rule: single_sample}",
    needs=lambda options: (request_probe(CODE), request_probe(PROBE)),
    watches=lambda options: (request_probe(CODE), request_probe(PROBE)),
    judge=judge,
)
