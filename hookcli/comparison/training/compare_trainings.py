"""Compare two trainings. Pure: this needs no torch and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hookcli.comparison.diff import RowStatus, Status
from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.observed import Observed, observe, shifted
from hookcli.comparison.training.parting import SideNames, parting
from hookcli.comparison.training.record_pairs import RecordPair, pair_records
from hookcli.comparison.training.resumed import Resumed, find_resumed, resume_diff
from hookcli.comparison.training.run_settings import settings_of
from hookcli.comparison.training.step_pairs import StepPairs
from hookcli.comparison.training.training_diff import (
    RUN_DIFF,
    FigureDiff,
    GradientDiff,
    Parting,
    RecordDiff,
    ResumeDiff,
    StepDiff,
    TrainingDiff,
    TrainingSide,
)
from hookcli.report.report import ParameterRow
from hookcli.report.training import TrainingReport
from hookcli.report.values import Number
from hookcli.text import counted


def compare_trainings(
    a: TrainingReport,
    b: TrainingReport,
    tolerances: Tolerances | None = None,
    names: SideNames | None = None,
) -> TrainingDiff:
    """Return the differences of two trainings, with records, steps and parameters in A's order.

    Records are matched by name or types, steps by number. Only steps and figures that both contain
    are compared; other steps do not make the trainings different. `names` are those of the two in
    sentences.
    """
    limits, sides = tolerances or Tolerances(), names or SideNames()
    pairs = pair_records(a.records, b.records)
    found = [_resumed(a, b, pair) for pair in pairs]
    compared = [_record(pair, limits, resumed) for pair, resumed in zip(pairs, found, strict=True)]
    rows = tuple(row for row, _ in compared)
    resume = _first_resume(found, rows, sides)
    first = _first(compared, sides)
    settings = tuple(settings_of(a, b, pairs))
    reasons = tuple(_reasons(a, b, rows, sides))
    if resume is not None and resume.lost is not None:
        reasons = (f"{resume.lost} not restored", *reasons)
    return TrainingDiff(
        schema=RUN_DIFF,
        verdict="different" if reasons else "same",
        reasons=reasons,
        a=_side(a),
        b=_side(b),
        settings=settings,
        first=first,
        records=rows,
        warnings=tuple(_warnings(a, b, compared, sides)),
        resume=resume,
    )


def _resumed(a: TrainingReport, b: TrainingReport, pair: RecordPair) -> Resumed | None:
    """Return where one of two records goes on from the other."""
    ours, theirs = (None if side is None else side.training for side in (pair.a, pair.b))
    if pair.a is None or pair.b is None or ours is None or theirs is None:
        return None
    shapes = [{row.name: row.shape for row in side.parameters} for side in (pair.a, pair.b)]
    if shapes[0] != shapes[1]:  # another model, which may begin with some of the weights
        return None
    return find_resumed(a, b, (ours.record, theirs.record))


def _first_resume(
    found: Sequence[Resumed | None], rows: Sequence[RecordDiff], names: SideNames
) -> ResumeDiff | None:
    """Return the first record that was not restored; else the first that was resumed."""
    diffs = [
        resume_diff(resumed, row.a or "", names, has_parted=row.first is not None)
        for resumed, row in zip(found, rows, strict=True)
        if resumed is not None
    ]
    lost = [diff for diff in diffs if diff.lost is not None]
    return next(iter([*lost, *diffs]), None)


def _side(report: TrainingReport) -> TrainingSide:
    names = tuple(row.training.record for row in report.records if row.training is not None)
    return TrainingSide(report.script, report.tracking, report.environment, names)


def _record(
    pair: RecordPair, tolerances: Tolerances, resumed: Resumed | None
) -> tuple[RecordDiff, StepPairs | None]:
    if pair.a is None or pair.b is None:
        return _alone(pair), None
    a, b = observe(pair.a), observe(pair.b)
    if resumed is not None and resumed.side == "b":
        b = shifted(b, resumed.offset)
    elif resumed is not None:
        a = shifted(a, resumed.offset)
    steps = StepPairs(a, b, tolerances)
    walk = _Walk(steps)
    status: RowStatus = walk.status()
    row = RecordDiff(
        a=a.record,
        b=b.record,
        matched=pair.matched,
        status=status,
        steps=(a.info.total, b.info.total),
        compared=len(walk.rows),
        sampled=steps.sampled(),
        figures=sum(row.compared for row in walk.rows),
        different=sum(row.different for row in walk.rows),
        first=walk.first,
        follows=tuple(walk.follows.values()),
        first_inexact=walk.first_inexact,
        largest_before=walk.largest_before,
        rows=tuple(walk.rows),
        parameters=tuple(_parameters(a, b, steps, walk)),
    )
    return row, steps


def _alone(pair: RecordPair) -> RecordDiff:
    ours, theirs = (None if side is None else side.training for side in (pair.a, pair.b))
    return RecordDiff(
        a=None if ours is None else ours.record,
        b=None if theirs is None else theirs.record,
        matched=None,
        status="only_b" if pair.a is None else "only_a",
        steps=(None if ours is None else ours.total, None if theirs is None else theirs.total),
        compared=0,
        sampled=(),
        figures=0,
        different=0,
        first=None,
        follows=(),
        first_inexact=None,
        largest_before=None,
        rows=(),
        parameters=(),
    )


class _Walk:
    """Goes through the steps that two records share, and keeps what differs first."""

    def __init__(self, steps: StepPairs) -> None:
        self.rows: list[StepDiff] = []
        self.first: FigureDiff | None = None
        self.first_inexact: FigureDiff | None = None
        self.follows: dict[str, FigureDiff] = {}
        self.largest_before: Number | None = None
        self.gradients: dict[str, list[FigureDiff]] = {}
        sampled = set(steps.sampled())
        for step in steps.common():
            figures = list(steps.figures(step))
            for figure in figures:
                self._note(figure)
            self.rows.append(self._row(steps, step, figures, sampled=step in sampled))

    def status(self) -> Status:
        """Return the worst status of all figures."""
        if self.first is not None:
            return "different"
        if not any(row.compared for row in self.rows):
            return "unknown"
        return "same" if self.first_inexact is None else "close"

    def _note(self, figure: FigureDiff) -> None:
        if figure.kind == "gradient" and figure.name is not None:
            self.gradients.setdefault(figure.name, []).append(figure)
        if figure.status != "same" and self.first_inexact is None:
            self.first_inexact = figure
        if self.first is None and figure.status != "different" and not _is_rounding(figure):
            self.largest_before = largest((self.largest_before, figure.relative))
        if figure.status == "different":
            if self.first is None:
                self.first = figure
            elif figure.kind != self.first.kind:
                self.follows.setdefault(figure.kind, figure)

    def _row(
        self, steps: StepPairs, step: int, figures: list[FigureDiff], *, sampled: bool
    ) -> StepDiff:
        a, b = steps.a.steps[step], steps.b.steps[step]
        statuses = {figure.status for figure in figures}
        worst: Status = (
            "different" if "different" in statuses
            else "close" if "close" in statuses
            else "same" if statuses
            else "unknown"
        )  # fmt: skip
        return StepDiff(
            step=step,
            sampled=sampled,
            status=worst,
            loss=steps.losses(step),
            grad_norm=(a.grad_norm, b.grad_norm),
            lr=(a.lr, b.lr),
            compared=len(figures),
            different=sum(figure.status == "different" for figure in figures),
            largest=largest(figure.relative for figure in figures),
        )


def _is_rounding(figure: FigureDiff) -> bool:
    """Return whether a figure is close only since it has no correct digit."""
    limit, relative = figure.limit, figure.relative
    return limit is not None and relative is not None and float(relative) > limit


def largest(values: Iterable[Number | None]) -> Number | None:
    """Return the largest relative difference; None if none is known."""
    known = [value for value in values if value is not None]
    return max(known, key=float, default=None)


def _parameters(a: Observed, b: Observed, steps: StepPairs, walk: _Walk) -> Iterator[GradientDiff]:
    for name in sorted(a.parameters, key=steps.ranks.parameter):
        parameter, partner = a.parameters[name], steps.parameters.get(name)
        if partner is None:
            yield GradientDiff(name, None, "only_a", (parameter.shape, None), 0, 0, None, None)
            continue
        yield _parameter(parameter, b.parameters[partner], walk.gradients.get(name, []))
    taken = set(steps.parameters.values())
    for name, parameter in b.parameters.items():
        if name not in taken:
            yield GradientDiff(None, name, "only_b", (None, parameter.shape), 0, 0, None, None)


def _parameter(ours: ParameterRow, theirs: ParameterRow, figures: list[FigureDiff]) -> GradientDiff:
    apart = [figure for figure in figures if figure.status == "different"]
    status: Status = (
        "different" if apart or ours.shape != theirs.shape
        else "unknown" if not figures
        else "same" if all(figure.status == "same" for figure in figures)
        else "close"
    )  # fmt: skip
    return GradientDiff(
        a=ours.name,
        b=theirs.name,
        status=status,
        shapes=(ours.shape, theirs.shape),
        steps=len(figures),
        different=len(apart),
        first=apart[0] if apart else None,
        largest=largest(figure.relative for figure in figures),
    )


def _first(compared: list[tuple[RecordDiff, StepPairs | None]], names: SideNames) -> Parting | None:
    """Return where the trainings part: the record with the earliest step, A's order in a tie."""
    apart = [
        (row.first.step, row, steps)
        for row, steps in compared
        if row.first is not None and steps is not None
    ]
    if not apart:
        return None
    _, row, steps = min(apart, key=lambda item: item[0])  # the first of several
    several = sum(row.a is not None for row, _ in compared) > 1
    return parting(row, steps, names, several=several)


def _reasons(
    a: TrainingReport,
    b: TrainingReport,
    records: tuple[RecordDiff, ...],
    names: SideNames,
) -> Iterator[str]:
    """Yield why the trainings are not the same, the most important first."""
    several = len(records) > 1
    for row in records:
        if row.first is not None:
            apart = sum(step.status == "different" for step in row.rows)
            of = f" of {row.a}" if several else ""
            yield f"{apart:,} of {counted(row.compared, 'step')}{of}"
    for row in records:
        if row.status in {"only_a", "only_b"}:
            side = names.a if row.status == "only_a" else names.b
            yield f"record {row.a or row.b} only in {side}"
    for row in records:
        shapes = [p for p in row.parameters if p.status in {"only_a", "only_b"} or _reshaped(p)]
        if shapes:
            yield f"{counted(len(shapes), 'parameter')} without a counterpart of the same shape"
    failed = [report.script.ended == "exception" for report in (a, b)]
    if failed[0] != failed[1]:
        yield f"{names.a if failed[0] else names.b} ended by an exception"


def _reshaped(row: GradientDiff) -> bool:
    ours, theirs = row.shapes
    return ours is not None and theirs is not None and ours != theirs


def _warnings(
    a: TrainingReport,
    b: TrainingReport,
    compared: Sequence[tuple[RecordDiff, StepPairs | None]],
    names: SideNames,
) -> Iterator[str]:
    if not a.records and not b.records:
        yield "neither run has a record of a training: there is nothing to compare"
    for row, steps in compared:
        if row.status in {"only_a", "only_b"}:
            continue
        if not row.compared:
            yield f"{row.a}: the two runs have no step in common"
        elif None not in row.steps and row.steps[0] != row.steps[1]:
            first, second = row.steps
            counts = f"{counted(first or 0, 'step')} in {names.a} and {second or 0:,} in {names.b}"
            yield f"{row.a} has {counts}: only steps of both are compared"
        if row.compared and steps is not None and not steps.is_alike:
            yield f"{row.a}: one training ran on several ranks: layers are not compared"
        elif row.compared and not row.sampled:
            yield f"{row.a}: no step is sampled in both runs, so layers are not compared"
        if row.matched in {"root", "rest"}:
            yield f"record {row.a} of {names.a} is compared with {row.b} of {names.b}"
    for side, report in ((names.a, a), (names.b, b)):
        yield from (f"{side}: {warning}" for warning in report.warnings)
