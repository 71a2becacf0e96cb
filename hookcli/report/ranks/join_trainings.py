"""Joins the reports that the ranks of one training wrote: figures of whole tensors, agreement.

Nothing was exchanged while the script ran. The report of the lowest rank is the base.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from hookcli.report.distributed import JoinedRanks
from hookcli.report.ranks.partings import compare_ranks
from hookcli.report.ranks.pieces import hypot_of, is_pending, value_of
from hookcli.report.ranks.spans import spans_of
from hookcli.report.ranks.stages import stage_in, with_own_passes, with_stages
from hookcli.report.ranks.whole_parameters import whole_row, whole_update
from hookcli.report.ranks.whole_steps import WholeSteps
from hookcli.report.report import ParameterRow, Report
from hookcli.report.rows.events import number
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.text import counted, join_names

_FAILED = {"exception", "signal"}
_LONGEST = 120  # characters of the error of another rank
_PARTS = "parameters are sharded: norms are those of this rank's part"  # of a single file


def join_trainings(reports: Sequence[TrainingReport]) -> TrainingReport:
    """Return one report of all ranks. The reports are of different ranks of the same run."""
    own_passes = map(with_own_passes, reports)
    first, *others = sorted(own_passes, key=lambda report: report.tracking.rank)
    rank, world = first.tracking.rank, first.tracking.world_size
    there = {report.tracking.rank: report for report in others}
    missing = [i for i in range(world) if i != rank and i not in there]
    ranks = JoinedRanks(
        ranks=spans_of(sorted([rank, *there])),
        count=len(reports),
        missing=spans_of(missing) if missing else None,
    )
    placed = {_name(record) for record in first.records if _has_placements(record)}
    notes = [one for one in first.warnings if one not in {f"{name}: {_PARTS}" for name in placed}]
    records = []
    own = {stage for record in first.records if (stage := stage_in(record)) is not None}
    for i, record in enumerate(first.records):
        same = {at: _counterpart(record, i, report) for at, report in there.items()}
        known = {at: other for at, other in same.items() if other is not None}
        joined = _joined(record, known, rank, ranks)
        if own and stage_in(record) == min(own):
            joined = with_stages(joined, _other_stages(first, there, min(own), ranks))
        elif own and stage_in(record) is not None:
            continue  # it is in the record of the lowest stage
        notes += _notes(joined)
        records.append(joined)
    if missing and records:
        notes.append(f"no file of rank {_few(missing)}: it is not compared with the others")
    notes += [_ended(report) for report in others if report.script.ended in _FAILED]
    return dataclasses.replace(first, records=tuple(records), warnings=tuple(notes))


def _ended(report: TrainingReport) -> str:
    """Return how the script of another rank ended: the error of this one may follow from it."""
    error = " ".join((report.script.error or "an exception").split())
    if len(error) > _LONGEST:
        error = f"{error[:_LONGEST]}…"
    steps = [one.training.total for one in report.records if one.training is not None]
    after = f" after {counted(max(steps), 'step')}" if steps else ""
    verb = "ended by" if report.script.ended == "signal" else "ended with"
    return f"rank {report.tracking.rank} {verb} {error}{after}"


def _other_stages(
    base: TrainingReport, there: Mapping[int, TrainingReport], lowest: int, ranks: JoinedRanks
) -> list[Report]:
    """Return the stages of a pipeline but the lowest of the first rank, each from its ranks."""
    found: dict[int, dict[int, Report]] = {}
    for at, report in {base.tracking.rank: base, **there}.items():
        for record in report.records:
            stage = stage_in(record)
            if stage is not None and stage != lowest:
                found.setdefault(stage, {})[at] = record
    joined = []
    for _, records in sorted(found.items()):
        (rank, first), *others = records.items()
        joined.append(_joined(first, dict(others), rank, ranks))
    return joined


def _name(record: Report) -> str | None:
    return None if record.training is None else record.training.record


def _has_placements(record: Report) -> bool:
    return any(row.placements is not None for row in record.parameters)


def _few(ranks: Sequence[int]) -> str:
    return join_names([str(rank) for rank in ranks])


def _counterpart(record: Report, index: int, other: TrainingReport) -> Report | None:
    """Return the record of another rank with the same name, else at the same position."""
    stage = stage_in(record)
    if stage is not None:
        return next((one for one in other.records if stage_in(one) == stage), None)
    for report in other.records:
        if report.training is not None and report.training.record == _name(record):
            return report
    return other.records[index] if index < len(other.records) else None


def _joined(record: Report, others: Mapping[int, Report], rank: int, ranks: JoinedRanks) -> Report:
    info = record.training
    if info is None:
        return record
    infos = {at: one.training for at, one in others.items() if one.training is not None}
    rows: dict[str, ParameterRow] = {}
    updates = {row.name: row for row in info.updates}
    named = {at: {row.name: row for row in one.parameters} for at, one in others.items()}
    changes = {at: {row.name: row for row in one.updates} for at, one in infos.items()}
    for row in record.parameters:
        there = {at: of[row.name] for at, of in named.items() if row.name in of}
        rows[row.name], parts = whole_row(row, there, rank)
        if parts is not None and row.name in updates:
            same = {at: of[row.name] for at, of in changes.items() if row.name in of}
            updates[row.name] = whole_update(updates[row.name], same, parts, rank)
    steps = tuple(_with_mean_loss(info, infos, ranks))
    whole = WholeSteps(info, infos, rank)
    if whole.is_whole:
        steps = tuple(map(whole.row, steps))
    partings, ranks = compare_ranks({rank: record, **others}, ranks)
    training = dataclasses.replace(
        info,
        steps=_recounted(steps, record.parameters, rows),
        updates=tuple(updates.values()),
        step_digests=None,
        rank_digests=_rank_digests(info, infos, rank),
        joined=ranks,
        partings=tuple(partings) or None,
    )
    joined = dataclasses.replace(record, parameters=tuple(rows.values()), training=training)
    return _with_total(joined)


def _with_mean_loss(
    info: TrainingInfo, others: Mapping[int, TrainingInfo], ranks: JoinedRanks
) -> list[StepRow]:
    """Return the steps with the mean of the losses of all ranks, where they differ."""
    losses = [{row.step: row.loss for row in other.steps} for other in others.values()]
    steps = []
    for row in info.steps:
        known = [value_of(loss) for loss in (row.loss, *(of.get(row.step) for of in losses))]
        values = [loss for loss in known if loss is not None]
        if ranks.missing is None and values and len(set(values)) > 1:
            steps.append(dataclasses.replace(row, mean_loss=number(sum(values) / len(values))))
        else:
            steps.append(row)
    return steps


def _recounted(
    steps: Sequence[StepRow], parts: Sequence[ParameterRow], whole: Mapping[str, ParameterRow]
) -> tuple[StepRow, ...]:
    """Return the steps with the parameters counted by the status of their whole gradients."""
    changes: dict[tuple[int, str], int] = {}
    for row in parts:
        if not whole[row.name].whole:
            continue
        for before, after in zip(row.steps, whole[row.name].steps, strict=True):
            for state, one in ((before.get("status"), -1), (after.get("status"), 1)):
                key = (int(before.get("step", -1)), str(state))
                changes[key] = changes.get(key, 0) + one
    return tuple(
        row
        if row.zero is None or row.non_finite is None
        else dataclasses.replace(
            row,
            zero=max(0, row.zero + changes.get((row.step, "zero"), 0)),
            non_finite=max(0, row.non_finite + changes.get((row.step, "non_finite"), 0)),
        )
        for row in steps
    )


def _rank_digests(
    info: TrainingInfo, others: Mapping[int, TrainingInfo], rank: int
) -> dict[int, tuple[str | None, ...]] | None:
    """Return the digests of all ranks after sampled steps, by rank."""
    if info.digests is None:
        return info.rank_digests
    most = max([rank, *others])
    found: dict[int, tuple[str | None, ...]] = {}
    for step, digest in info.digests.items():
        row: list[str | None] = [None] * (most + 1)
        row[rank] = digest
        for at, other in others.items():
            row[at] = (other.digests or {}).get(step)
        found[step] = tuple(row)
    return found


def _with_total(record: Report) -> Report:
    """Return the record with the norm of all gradients of the last step, if it is whole."""
    if record.totals.grad_norm is None or not any(row.whole for row in record.parameters):
        return record
    norms = [row.grad["norm"] for row in record.parameters if row.grad is not None]
    known = all(row.whole is not False for row in record.parameters)
    total = hypot_of(norms) if known else None
    return dataclasses.replace(record, totals=dataclasses.replace(record.totals, grad_norm=total))


def _notes(record: Report) -> list[str]:
    """Return notes on figures that are not those of whole tensors."""
    info = record.training
    if info is None:
        return []
    notes = []
    if info.stage is not None and info.joined is not None and info.joined.count > 1:
        notes.append(f"{info.record}: layers are those of stage {info.stage.index} of the pipeline")
    local = [row.name for row in record.parameters if row.whole is False]
    if local:
        missing = info.joined.missing if info.joined is not None else None
        why = f": no file of rank {missing}" if missing else ""
        notes.append(f"{info.record}: figures of {join_names(local)} are those of a part{why}")
    pending = [row.name for row in record.parameters if is_pending(row.grad_placements or ())]
    if pending:
        notes.append(
            f"{info.record}: gradients of {join_names(pending)} are Partial: their sum is pending"
        )
    return notes
