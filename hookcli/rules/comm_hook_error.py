"""`comm_hook_error`: a communication hook averages gradients as exactly as is asked."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.distributed import BucketRow
from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.text import counted, join_names


def _size(row: BucketRow) -> float:
    """The error as a number; one that is not known is infinite."""
    return float("inf") if row.error is None else float(row.error)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """One finding: the worst bucket, and how many are above the limit."""
    distributed = report.distributed
    if distributed is None or not distributed.buckets:
        yield skipped("no gradients were averaged: --nproc 2 runs two ranks")
        return
    if report.error is not None:
        yield skipped("the run failed before its end")
        return
    limit = options["limit"]
    worst = max(distributed.buckets, key=lambda row: (_size(row) != _size(row), _size(row)))
    above = [row for row in distributed.buckets if not _size(row) <= limit]
    if not above:
        buckets = counted(len(distributed.buckets), "bucket")
        message = f"{distributed.hook} averaged {buckets} within {limit:g}"
        yield passed(message, value=worst.error, limit=limit)
        return
    message = (
        f"{distributed.hook} is off the exact average by {_size(worst):.3g} of its norm in bucket "
        f"{worst.index} of step {worst.step} ({join_names(worst.parameters)})"
    )
    more = f"; {len(above)} of {counted(len(distributed.buckets), 'bucket')} are above"
    yield RuleFinding(
        "fail", "", "error", message + (more if len(above) > 1 else ""), worst.error, limit
    )


RULE = Rule(
    name="comm_hook_error",
    severity="error",
    says="what a communication hook makes of the gradients is near their exact average",
    computes="Beside the hook each bucket is averaged in float64 by a plain all-reduce. The error "
    "is the norm of the difference over the norm of that average, the largest of all ranks', for "
    "each bucket in each step.",
    formula="|hook(g) - mean(g)| / |mean(g)| <= limit",
    source="the papers of the compressions bound it; torch does not measure it",
    fails="power_sgd of rank 1 on a gradient of full rank; noop; a hook that sums and does not "
    "divide",
    mend="a higher rank, a later start, error feedback; fp16_compress is within 1e-3",
    example="{rule: comm_hook_error, limit: 0.1}",
    options=(RuleOption("limit", "number", "the largest relative error", 1e-2),),
    needs=lambda options: ("backward",),
    judge=judge,
)
