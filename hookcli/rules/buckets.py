"""`buckets`: limits on the number, size and traffic of the buckets of gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

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
from hookcli.text import counted, join_names, pluralize


def _last_step(rows: Sequence[BucketRow]) -> list[BucketRow]:
    """Return the rows of the last step: DDP rebuilds buckets only in the first steps."""
    last = max(row.step for row in rows)
    return [row for row in rows if row.step == last]


def _whole(report: Report, rows: Sequence[BucketRow]) -> Iterator[RuleFinding]:
    """Yield a finding unless every trainable parameter is in exactly one bucket of the step."""
    count = Counter(name for row in rows for name in row.parameters)
    trainable = [row.name for row in report.parameters if row.requires_grad]
    missing = [name for name in trainable if not count[name]]
    if missing:
        message = f"no bucket contains {join_names(missing)}: their gradients are not averaged"
        yield RuleFinding(
            "fail", missing[0], "missing", message, len(missing), 0, report.model.place
        )
    again = [name for name, times in count.items() if times > 1]
    if again:
        message = f"several buckets of one step contain {join_names(again)}"
        yield RuleFinding("fail", again[0], "again", message, len(again), 0, report.model.place)


def _limits(rows: Sequence[BucketRow], options: Options) -> Iterator[RuleFinding]:
    count, most, part = options["count"], options["bytes"], options["sent"]
    if count is not None and len(rows) > count:
        message = f"a step has {counted(len(rows), 'bucket')}, which exceeds the limit of {count:,}"
        yield RuleFinding("fail", "", "count", message, len(rows), count)
    largest = max(rows, key=lambda row: row.bytes)
    if most is not None and largest.bytes > most:
        size = f"{largest.bytes:,} bytes"
        message = f"bucket {largest.index} has {size}, which exceeds the limit of {most:,}"
        yield RuleFinding("fail", "", "bytes", message, largest.bytes, most)
    if part is None:
        return
    plain = sum(row.plain_bytes for row in rows)
    sent = sum(row.wire_bytes or 0 for row in rows)
    if plain and sent / plain > part:
        ratio = f"{sent / plain:.2f} of the bytes of plain all-reduce"
        message = f"a step sends {ratio}, which exceeds the limit of {part:g}"
        yield RuleFinding("fail", "", "sent", message, round(sent / plain, 4), part)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield findings for exceeded limits, and for parameters that are not in one bucket."""
    distributed = report.distributed
    if distributed is None or not distributed.buckets:
        yield skipped(f"no gradients were exchanged in buckets: {NPROC}")
        return
    if report.error is not None:
        yield skipped(UNFINISHED)
        return
    rows = _last_step(distributed.buckets)
    findings = [*_whole(report, rows), *_limits(rows, options)]
    yield from findings
    if not findings:
        size = sum(row.bytes for row in rows)
        contain = pluralize(len(rows), "contains", "contain")
        yield passed(f"{counted(len(rows), 'bucket')} of {size:,} bytes {contain} every gradient")


RULE = Rule(
    name="buckets",
    severity="error",
    says="all gradients are exchanged, in buckets and with traffic within given limits",
    computes="Checks the last step: every trainable parameter must be in exactly one bucket. With "
    "limits, also checks the number of buckets, the size of the largest one, and the bytes that a "
    "rank sends relative to plain all-reduce (both by ring algorithms).",
    formula="count <= limit; max bytes <= limit; sent / plain <= limit",
    source="hookcli's own: torch does not log this",
    fails="a bucket_cap_mb that splits the model into a thousand buckets; a compression that "
    "starts at step 1000 and sends everything until then",
    mend="set `run.distributed.bucket_cap_mb`; set start_powerSGD_iter of the hook, and `--steps` "
    "beyond it",
    example="{rule: buckets, count: 10, sent: 0.5}",
    options=(
        RuleOption("count", "count", "largest number of buckets in a step"),
        RuleOption("bytes", "count", "largest number of bytes in a bucket"),
        RuleOption("sent", "number", "largest fraction of the bytes of plain all-reduce"),
    ),
    needs=lambda options: (BACKWARD,),
    judge=judge,
)
