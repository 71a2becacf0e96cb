"""Results of several ranks: buckets, shards, missing gradients and differences from rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.document.document import TableBlock
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.text import figure, size
from hookcli.formats.view import View
from hookcli.report.distributed import BucketRow, DifferenceRow, Distributed, RankRow, UnitRow
from hookcli.report.report import Report
from hookcli.report.values import Number
from hookcli.text import join_names, pluralize

_WAYS = {"ddp": "DistributedDataParallel", "fsdp": "FSDP2"}
_MOST = 4  # names in one sentence
_GIVE_WAY = ("norm_exact", "order", "norms_before", "norm_after")


def names(parameters: Sequence[str], most: int = 2) -> str:
    """Return the first names, and the number of the others."""
    return join_names([escape(name) for name in parameters], most, rest=" +{}")


def _range(norms: Sequence[Number | None]) -> str:
    """Return the smallest and the largest over the ranks, or one figure if they look equal."""
    plain = sorted(float(norm) for norm in norms if norm is not None)
    if not plain:
        return "–"
    low, high = figure(plain[0]), figure(plain[-1])
    return low if low == high else f"{low}..{high}"


def _wire(row: BucketRow) -> str:
    """Return the bytes sent, and their ratio to those of plain all-reduce."""
    if row.wire_bytes is None or not row.plain_bytes:
        return "–"
    return f"{size(row.wire_bytes)} ({row.wire_bytes / row.plain_bytes:.2f})"


_BUCKETS: dict[str, Column[BucketRow]] = {
    "step": Column("Step", lambda row: str(row.step), right=True),
    "bucket": Column("Bucket", lambda row: f"{row.index}{', last' if row.last else ''}"),
    "order": Column("Ready", lambda row: str(row.order), right=True),
    "size": Column("Size", lambda row: size(row.bytes), right=True),
    "parameters": Column("Parameters", lambda row: names(row.parameters), least=16),
    "norms_before": Column("Norm before", lambda row: _range(row.norms_before), right=True),
    "norm_after": Column("Norm after", lambda row: figure(row.norm_after), right=True),
    "norm_exact": Column("Exact norm", lambda row: figure(row.norm_exact), right=True),
    "error": Column("Error", lambda row: figure(row.error), right=True),
    "wire": Column("Sent (of all-reduce)", _wire, right=True),
}
_UNITS: dict[str, Column[UnitRow]] = {
    "module": Column(
        "Shard", lambda row: escape(row.module) or "the model", least=16, distinct=True
    ),
    "parameters": Column("Parameters", lambda row: names(row.parameters), least=16),
    "bytes": Column("Size", lambda row: size(row.bytes), right=True),
    "shard_bytes": Column("On rank 0", lambda row: size(row.shard_bytes), right=True),
}


def tables(report: Report, view: View) -> list[TableBlock[Any]]:
    """Return the tables of buckets and of shards; steps with the same buckets are shown once."""
    distributed = report.distributed
    if distributed is None or view.asked is not None:
        return []
    return [
        TableBlock(_BUCKETS, _telling(distributed), "bucket", give_way=_GIVE_WAY),
        TableBlock(_UNITS, distributed.units, "shard"),
    ]


def _telling(distributed: Distributed) -> list[BucketRow]:
    """Return the buckets of the last step, and of each step before they changed."""
    steps: dict[int, list[BucketRow]] = {}
    for row in distributed.buckets:
        steps.setdefault(row.step, []).append(row)
    last = max(steps, default=0)
    shown: list[BucketRow] = []
    for step, rows in steps.items():
        following = steps.get(step + 1)
        if step == last or following is None or _what(rows) != _what(following):
            shown += rows
    return shown


def _what(rows: Sequence[BucketRow]) -> list[tuple[tuple[str, ...], int | None]]:
    return [(row.parameters, row.wire_bytes) for row in rows]


def totals(report: Report) -> list[tuple[str, str]]:
    """Return lines about the ranks, and about the traffic of a step."""
    distributed = report.distributed
    if distributed is None:
        return []
    hook = (
        f", hook {escape(distributed.hook)}" if distributed.hook not in {None, "allreduce"} else ""
    )
    ranks = pluralize(distributed.world_size, "rank")
    wrapper, backend = _WAYS[distributed.parallel], escape(distributed.backend)
    way = f"{distributed.world_size} {ranks}, {wrapper} over {backend}{hook}"
    lines = [("Ranks", way)]
    known = [row for row in distributed.buckets if row.wire_bytes is not None]
    if known:
        last = max(row.step for row in known)
        rows = [row for row in known if row.step == last]
        sent = sum(row.wire_bytes or 0 for row in rows)
        plain = sum(row.plain_bytes for row in rows)
        part = f", {sent / plain:.2f} of plain all-reduce" if plain else ""
        lines.append(("Sent per step", f"{size(sent)} per rank{part}"))
    if distributed.rebuilt is not None:
        lines.append(("Buckets rebuilt", f"at step {distributed.rebuilt}"))
    return lines


def alarms(report: Report) -> list[tuple[str, str]]:
    """Return lines about parameters without gradient, and about differences from rank 0."""
    distributed = report.distributed
    if distributed is None:
        return []
    lines = []
    unreached: dict[tuple[int, ...], list[str]] = {}
    for row in distributed.unreached:
        unreached.setdefault(row.ranks, []).append(row.parameter)
    for ranks, rows in unreached.items():
        lines.append(
            ("no gradient", f"on {_on(ranks, distributed.world_size)}: {names(rows, _MOST)}")
        )
    same_error = report.error is not None and report.error.message.startswith("all ranks")
    for rank in () if same_error else distributed.ranks:
        lines += [("ranks differ", text) for text in _differing(rank)]
    return lines


def _on(ranks: Sequence[int], world: int) -> str:
    if len(ranks) == world:
        return "any rank" if world > 1 else "the one rank"
    word = pluralize(len(ranks), "rank")
    return f"{word} {join_names([str(rank) for rank in ranks], _MOST)}"


def _differing(rank: RankRow) -> list[str]:
    """Return one sentence for each sort of difference, or the error of the rank."""
    if rank.error is not None:
        return [f"rank {rank.rank} {'died' if rank.status == 'dead' else 'failed'}: "
                f"{escape(rank.error)}"]  # fmt: skip
    sentences = []
    sorts: dict[str, list[DifferenceRow]] = {}
    for row in rank.differs:
        sorts.setdefault(row.what, []).append(row)
    for rows in sorts.values():
        more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
        sentences.append(f"rank {rank.rank}: {sentence(rows[0])}{more}")
    return sentences


def sentence(row: DifferenceRow) -> str:
    """Return a difference in words."""
    target = escape(row.target)
    here, there = (_value(value) for value in (row.value, row.of_rank_0))
    if row.what in {"gradient", "parameter value"}:
        noun = "the gradient" if row.what == "gradient" else "the value"
        if here == there:
            return f"{noun} of {target} has different bits, but the same norm {here}"
        return f"{noun} of {target} has norm {here}, but {there} on rank 0"
    if row.what == "call":
        return f"call {target} is a call of {here}, but of {there} on rank 0"
    if row.what == "calls":
        return f"{here} calls, but {there} on rank 0"
    if row.what == "uncalled":
        here, there = ("did not run", "ran") if row.value else ("ran", "did not run")
        return f"{target} {here}, but {there} on rank 0"
    if row.what == "status":
        return f"the gradient of {target} is {here}, but {there} on rank 0"
    return f"the {row.what} {target} is {here}, but {there} on rank 0"


def _value(value: object) -> str:
    return figure(value) if isinstance(value, int | float) else escape(str(value))
