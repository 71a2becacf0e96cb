"""`comm_hook_error`: a communication hook averages gradients within a limit of error."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.distributed import BucketRow
from hookcli.report.report import Report
from hookcli.rules.rule import (
    NPROC,
    UNFINISHED,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    skipped,
)
from hookcli.spec.checks import BACKWARD
from hookcli.text import counted, join_names


def _size(row: BucketRow) -> float:
    """Return the error as a number; an unknown error is infinite."""
    return float("inf") if row.error is None else float(row.error)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding: the worst bucket, and the number of buckets above the limit."""
    distributed = report.distributed
    if distributed is None or not distributed.buckets:
        yield skipped(f"no gradients were averaged: {NPROC}")
        return
    if report.error is not None:
        yield skipped(UNFINISHED)
        return
    limit = options["limit"]
    worst = max(distributed.buckets, key=lambda row: (_size(row) != _size(row), _size(row)))
    above = [row for row in distributed.buckets if not _size(row) <= limit]
    if not above:
        buckets = counted(len(distributed.buckets), "bucket")
        message = f"{distributed.hook} averaged {buckets} with an error of at most {limit:g}"
        yield passed(message, value=worst.error, limit=limit)
        return
    message = (
        f"{distributed.hook} differs from the exact average by {_size(worst):.3g} of its norm "
        f"in bucket {worst.index} of step {worst.step} ({join_names(worst.parameters)})"
    )
    more = f", and {len(above)} of {counted(len(distributed.buckets), 'bucket')} exceed the limit"
    yield RuleFinding(
        "fail", "", "error", message + (more if len(above) > 1 else ""), worst.error, limit
    )


RULE = Rule(
    name="comm_hook_error",
    severity="error",
    says="a communication hook computes nearly the exact average of the gradients",
    computes="In addition to the hook, a plain all-reduce averages each bucket in float64. The "
    "error is the norm of the difference divided by the norm of that average: the largest of all "
    "ranks, for each bucket in each step.",
    formula="|hook(g) - mean(g)| / |mean(g)| <= limit",
    source="the papers on compression give bounds; torch does not measure it",
    fails="power_sgd of rank 1 on a gradient of full rank; noop; a hook that sums but does not "
    "divide",
    mend="use a higher rank, a later start or error feedback; fp16_compress stays within 1e-3",
    example="{rule: comm_hook_error, limit: 0.1}",
    options=(RuleOption("limit", "number", "largest relative error", 1e-2),),
    needs=lambda options: (BACKWARD,),
    judge=judge,
)
