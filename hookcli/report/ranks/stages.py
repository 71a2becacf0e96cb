"""The stages of a pipeline as one record: the parameters of all, and the norms over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from hookcli.report.ranks.pieces import hypot_of, value_of
from hookcli.report.report import Report
from hookcli.report.rows.events import number
from hookcli.report.steps import OptimizerInfo, StepRow, TrainingInfo, UpdateRow
from hookcli.report.training import TrainingReport


def stage_in(record: Report) -> int | None:
    """Return the number of the stage of a pipeline that a record is; None if it is none."""
    info = record.training
    return None if info is None or info.stage is None else info.stage.index


def with_own_passes(report: TrainingReport) -> TrainingReport:
    """Return the report of a rank with several stages, each with its own backward passes only."""
    many = sum(stage_in(record) is not None for record in report.records)
    if many < 2:
        return report
    return dataclasses.replace(
        report, records=tuple(_with_passes(record, many) for record in report.records)
    )


def _with_passes(record: Report, many: int) -> Report:
    info = record.training
    if info is None or info.stage is None or any(row.backwards % many for row in info.steps):
        return record
    steps = tuple(dataclasses.replace(row, backwards=row.backwards // many) for row in info.steps)
    return dataclasses.replace(record, training=dataclasses.replace(info, steps=steps))


def with_stages(record: Report, others: Sequence[Report]) -> Report:
    """Return a record with the parameters and the norms of other stages.

    If stages have names in common, the parameters of each get its name before theirs.
    """
    info = record.training
    if info is None or not others:
        return record
    parameters = {row.name: row for row in record.parameters}
    updates = {row.name: row for row in info.updates}
    infos = [info]
    for other in sorted(others, key=lambda one: stage_in(one) or 0):
        if other.training is None:
            continue
        infos.append(other.training)
        is_same = any(row.name in parameters for row in other.parameters)
        start = f"stage{stage_in(other)}." if is_same else ""
        names = {row.name: start + row.name for row in other.parameters}
        for row in other.parameters:
            parameters[names[row.name]] = dataclasses.replace(row, name=names[row.name])
        updates |= _renamed(other.training.updates, names)
    training = dataclasses.replace(
        info,
        steps=_steps(infos),
        updates=tuple(updates.values()),
        partings=tuple(one for part in infos for one in part.partings or ()) or None,
        optimizer=info.optimizer and _optimizer(info.optimizer, infos),
    )
    everything = [record, *others]
    totals = dataclasses.replace(
        record.totals,
        parameters=sum(one.totals.parameters or 0 for one in everything),
        grad_norm=hypot_of([one.totals.grad_norm for one in everything]),
    )
    return dataclasses.replace(
        record, parameters=tuple(parameters.values()), training=training, totals=totals
    )


def _optimizer(first: OptimizerInfo, infos: Sequence[TrainingInfo]) -> OptimizerInfo:
    """Return an optimizer with the parameters of all stages; others of a rank are elsewhere."""
    known = [one.optimizer for one in infos if one.optimizer is not None]
    own = sum(one.parameters - one.elsewhere for one in known)
    total = max(own, *(one.parameters for one in known))
    return dataclasses.replace(first, parameters=total, elsewhere=total - own)


def _renamed(rows: Sequence[UpdateRow], names: Mapping[str, str]) -> dict[str, UpdateRow]:
    return {
        names.get(row.name, row.name): dataclasses.replace(row, name=names.get(row.name, row.name))
        for row in rows
    }


def _steps(infos: Sequence[TrainingInfo]) -> tuple[StepRow, ...]:
    """Return the steps with the norms over all stages, and the loss of the last one."""
    rows = [{row.step: row for row in info.steps} for info in infos]
    return tuple(_step(row, [of.get(row.step) for of in rows[1:]]) for row in infos[0].steps)


def _step(row: StepRow, others: Sequence[StepRow | None]) -> StepRow:
    known = [row, *(other for other in others if other is not None)]
    whole = len(known) == len(others) + 1
    weight = hypot_of([one.weight_norm for one in known]) if whole else None
    update = hypot_of([one.update_norm for one in known]) if whole else None
    above, below = value_of(update), value_of(weight)
    losses = [one for one in known if one.loss is not None]
    loss = losses[-1].loss if losses else None
    mean = value_of(loss)
    return dataclasses.replace(
        row,
        loss=loss,
        # the gradients are divided by the number of micro-batches, and `loss` is their sum
        mean_loss=None if mean is None else number(mean / max(1, losses[-1].backwards)),
        grad_norm=hypot_of([one.grad_norm for one in known]) if whole else None,
        weight_norm=weight,
        update_norm=update,
        update_ratio=number(above / below) if above is not None and below else None,
        missing=_sum([one.missing for one in known]),
        zero=_sum([one.zero for one in known]),
        non_finite=_sum([one.non_finite for one in known]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
