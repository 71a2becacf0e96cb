"""`buckets`: how gradients are exchanged: in how many buckets, how large, how much is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hookcli.report.distributed import BucketRow
from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.text import counted, join_names


def _last_step(rows: Sequence[BucketRow]) -> list[BucketRow]:
    """After the first steps buckets are as they stay."""
    last = max(row.step for row in rows)
    return [row for row in rows if row.step == last]


def _whole(report: Report, rows: Sequence[BucketRow]) -> Iterator[RuleFinding]:
    """Every trainable parameter stands in one bucket of a step."""
    count = Counter(name for row in rows for name in row.parameters)
    trainable = [row.name for row in report.parameters if row.requires_grad]
    missing = [name for name in trainable if not count[name]]
    if missing:
        message = f"no bucket holds {join_names(missing)}: their gradients stay each rank's own"
        yield RuleFinding(
            "fail", missing[0], "missing", message, len(missing), 0, report.model.place
        )
    again = [name for name, times in count.items() if times > 1]
    if again:
        message = f"{join_names(again)} stand in several buckets of one step"
        yield RuleFinding("fail", again[0], "again", message, len(again), 0, report.model.place)


def _limits(rows: Sequence[BucketRow], options: Options) -> Iterator[RuleFinding]:
    count, most, part = options["count"], options["bytes"], options["sent"]
    if count is not None and len(rows) > count:
        message = f"a step has {counted(len(rows), 'bucket')}, where {count:,} are allowed"
        yield RuleFinding("fail", "", "count", message, len(rows), count)
    largest = max(rows, key=lambda row: row.bytes)
    if most is not None and largest.bytes > most:
        message = f"bucket {largest.index} has {largest.bytes:,} bytes, where {most:,} are allowed"
        yield RuleFinding("fail", "", "bytes", message, largest.bytes, most)
    if part is None:
        return
    plain = sum(row.plain_bytes for row in rows)
    sent = sum(row.wire_bytes or 0 for row in rows)
    if plain and sent / plain > part:
        message = f"a step sends {sent / plain:.2f} of what plain all-reduce does"
        yield RuleFinding("fail", "", "sent", message, round(sent / plain, 4), part)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """A finding for each limit that is passed, and for parameters that no bucket holds."""
    distributed = report.distributed
    if distributed is None or not distributed.buckets:
        yield skipped("no gradients were exchanged in buckets: --nproc 2 runs two ranks")
        return
    if report.error is not None:
        yield skipped("the run failed before its end")
        return
    rows = _last_step(distributed.buckets)
    findings = [*_whole(report, rows), *_limits(rows, options)]
    yield from findings
    if not findings:
        size = sum(row.bytes for row in rows)
        yield passed(f"{counted(len(rows), 'bucket')} of {size:,} bytes hold every gradient")


RULE = Rule(
    name="buckets",
    severity="error",
    says="gradients are exchanged in as few and as large buckets as is asked, and all of them",
    computes="Of the last step: every trainable parameter stands in one bucket; and, where stated, "
    "the number of buckets, the size of the largest, and the bytes that a rank sends as a part of "
    "those of plain all-reduce (both by ring algorithms).",
    formula="count <= limit; max bytes <= limit; sent / plain <= limit",
    source="hookcli's own: torch logs none of it",
    fails="a bucket_cap_mb that cuts the model into a thousand; a compression that starts at step "
    "1000, and so sends everything",
    mend="run.distributed.bucket_cap_mb; start_powerSGD_iter of the hook, and --steps beyond it",
    example="{rule: buckets, count: 10, sent: 0.5}",
    options=(
        RuleOption("count", "count", "the most buckets in a step"),
        RuleOption("bytes", "count", "the most bytes in one"),
        RuleOption("sent", "number", "the largest part of plain all-reduce's bytes that is sent"),
    ),
    needs=lambda options: ("backward",),
    judge=judge,
)
