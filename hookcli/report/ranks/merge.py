"""Merge the reports of several ranks: rank 0's report with the differences of the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from hookcli.report.distributed import (
    BucketRow,
    DifferenceRow,
    Distributed,
    RankRow,
    UnreachedRow,
)
from hookcli.report.report import ErrorInfo, LayerRow, Report
from hookcli.report.values import Number

STATE = "rank_state"  # a measurement: bits and norm of a parameter and its gradient, of one rank
PARAMETER, GRADIENT = "parameter value", "gradient"
_MOST = 1_000  # differences reported for one rank


def merge_reports(reports: Sequence[Report | None], failure: ErrorInfo | None = None) -> Report:
    """Return rank 0's report with the results of the others. None is a rank without a report.

    `failure` is the error of the rank that failed first, if one did.
    """
    first = reports[0]
    if first is None:
        raise ValueError("rank 0 wrote no report")
    own = first.distributed
    distributed = None
    if own is not None:
        distributed = dataclasses.replace(
            own,
            buckets=_buckets(reports),
            unreached=_unreached(reports),
            ranks=tuple(_rank(i, item, first) for i, item in enumerate(reports) if i),
        )
    error = first.error if failure is None else failure
    return dataclasses.replace(
        first,
        status="complete" if error is None else "partial",
        error=error,
        distributed=distributed,
        run=dataclasses.replace(first.run, world_size=len(reports)),
        timings=_timings(reports),
        measurements=tuple(item for item in first.measurements if item.probe != STATE),
    )


def _timings(reports: Sequence[Report | None]) -> dict[str, Any] | None:
    first = reports[0]
    if first is None or first.timings is None:
        return None
    others = [
        {"rank": i, **report.timings, **_layers(report, first)}
        for i, report in enumerate(reports)
        if i and report is not None and report.timings is not None
    ]
    return {**first.timings, "ranks": others} if others else first.timings


def _layers(report: Report, first: Report) -> dict[str, Any]:
    """Return the calls that the times refer to, if they differ from those of rank 0."""
    ours, theirs = (
        [[row.order, row.parent, row.name, row.type] for row in rank_report.layers]
        for rank_report in (report, first)
    )
    return {} if ours == theirs else {"layers": ours}


def _of(report: Report | None) -> Distributed | None:
    return None if report is None else report.distributed


def _buckets(reports: Sequence[Report | None]) -> tuple[BucketRow, ...]:
    """Return rank 0's buckets with the norms and the largest error of all ranks."""
    tables = [
        {} if distributed is None else {(b.step, b.order): b for b in distributed.buckets}
        for distributed in map(_of, reports)
    ]
    return tuple(_bucket(row, [t.get(key) for t in tables]) for key, row in tables[0].items())


def _bucket(row: BucketRow, of_ranks: Sequence[BucketRow | None]) -> BucketRow:
    errors = [bucket.error for bucket in of_ranks if bucket is not None]
    return dataclasses.replace(
        row,
        norms_before=tuple(
            None if bucket is None else bucket.norms_before[0] for bucket in of_ranks
        ),
        error=_largest(errors),
    )


def _largest(errors: Sequence[Number | None]) -> Number | None:
    """Return the largest error; None if one is not known, a non-finite one before any other."""
    if any(error is None for error in errors):
        return None
    return next((error for error in errors if isinstance(error, str)), None) or max(
        (error for error in errors if not isinstance(error, str) and error is not None),
        default=None,
    )


def _unreached(reports: Sequence[Report | None]) -> tuple[UnreachedRow, ...]:
    ranks: dict[str, list[int]] = {}
    for i, distributed in enumerate(map(_of, reports)):
        for row in () if distributed is None else distributed.unreached:
            ranks.setdefault(row.parameter, []).append(i)
    return tuple(UnreachedRow(name, tuple(of)) for name, of in ranks.items())


def _rank(number: int, report: Report | None, first: Report) -> RankRow:
    if report is None:
        return RankRow(number, "dead", (), (), "it wrote no report")
    error = report.error
    message = None if error is None else f"{error.type}: {' '.join(error.message.split())}"
    return RankRow(
        rank=number,
        status=report.status,
        losses=report.run.losses,
        differs=tuple(
            difference
            for difference, _ in zip(_differences(report, first), range(_MOST), strict=False)
        ),
        error=message,
    )


def _differences(report: Report, first: Report) -> Iterator[DifferenceRow]:
    """Yield differences from rank 0 that do not just follow from another batch."""
    yield from _tables("parameter", _shapes(report), _shapes(first))
    yield from _tables("status", _statuses(report), _statuses(first))
    yield from _states(report, first)
    if report.error is None and first.error is None:
        yield from _calls(report.layers, first.layers)
        yield from _tables("uncalled", _uncalled(report), _uncalled(first))


def _tables(what: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[DifferenceRow]:
    for name in dict.fromkeys((*theirs, *ours)):
        if ours.get(name) != theirs.get(name):
            yield DifferenceRow(what, name, ours.get(name), theirs.get(name))


def _shapes(report: Report) -> dict[str, Any]:
    return {row.name: f"{list(row.shape)} {row.dtype}" for row in report.parameters}


def _statuses(report: Report) -> dict[str, Any]:
    return {row.name: row.status for row in report.parameters}


def _uncalled(report: Report) -> dict[str, Any]:
    return {row.name: row.type for row in report.uncalled}


def _states(report: Report, first: Report) -> Iterator[DifferenceRow]:
    """Yield parameters and gradients that are not bitwise equal, with their norms."""
    ours, theirs = (
        {entry.target: entry.value for entry in r.measurements if entry.probe == STATE}
        for r in (report, first)
    )
    for name, value in theirs.items():
        for what in (PARAMETER, GRADIENT):
            mine, other = ours.get(name, {}).get(what), value[what]
            if name in ours and mine != other:
                norms = (None if entry is None else entry["norm"] for entry in (mine, other))
                yield DifferenceRow(what, name, *norms)


def _calls(ours: Sequence[LayerRow], theirs: Sequence[LayerRow]) -> Iterator[DifferenceRow]:
    """Yield the first call that differs: later ones cannot be compared by order."""
    for mine, other in zip(ours, theirs, strict=False):
        if (mine.name, mine.call) != (other.name, other.call):
            yield DifferenceRow("call", str(other.order), mine.name, other.name)
            return
    if len(ours) != len(theirs):
        yield DifferenceRow("calls", "", len(ours), len(theirs))
