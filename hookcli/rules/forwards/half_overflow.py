"""`half_overflow`: no value overflows float16 inside a forward."""

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
from hookcli.spec.checks import BACKWARD, request_probe

HALF, PROBE = "half_values", "half_overflow"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield the first function that overflows."""
    value = next((m.value for m in report.measurements if m.probe == PROBE), None)
    if value is None:
        yield skipped("no operator of a forward has a result in float16")
    elif "error" in value:
        yield skipped(run_again_failed(report.run.mode, value["error"]))
    elif "why" in value:
        yield passed(value["why"])
    else:
        place = value["place"]
        where = f"`{value['function']}`" + (f" at {place}" if place else "")
        message = (
            f"{where} overflows float16: {value['values']:,} of {value['of']:,} results are "
            "infinite, above 65,504, for finite inputs"
        )
        yield RuleFinding(
            "fail", value["name"] or "", "overflow", message, value["values"], 0,
            place or report.model.place,
            advice="compute this operator in float32 or bfloat16, or scale its inputs down",
        )  # fmt: skip


RULE = Rule(
    name="half_overflow",
    severity="warning",
    diagnoses=True,
    looks_at="values",
    says="no operator overflows float16, even if later ones hide it",
    computes="Only if the autograd graph has results in float16: runs the forward again, and looks "
    "at the result of each function of torch. The first one with infinite values in float16, "
    "all of whose inputs are finite, is a finding. Functions that fill with a value, as for a "
    "mask, are not judged.",
    formula="|x| <= 65504 in float16",
    source="torch.finfo(torch.float16).max",
    fails="(q.half() @ k.half().T).float().clamp(max=1e4)",
    mend="scale the inputs, or compute in float32",
    example="{rule: half_overflow}",
    needs=lambda options: (BACKWARD, request_probe(HALF), request_probe(PROBE)),
    watches=lambda options: (request_probe(HALF), request_probe(PROBE)),
    judge=judge,
)
