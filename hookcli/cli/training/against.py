"""`hookcli run --against`: at its end, the training is compared with an earlier one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hookcli.errors import HookcliError, RequestError
from hookcli.report.files import read_any_report
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.sentences import not_a_training
from hookcli.spec.checks import CheckSpec
from hookcli.spec.ranks import with_rank
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.comparison.training.training_diff import TrainingDiff
    from hookcli.report.training import TrainingReport

_RULE = "same_as"
_HINT = "write one with `hookcli run -f json=FILE SCRIPT`"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The report of an earlier training. `file` is absolute, as the script may change the folder.

    `rtol` is the limit of the check; None: the default.
    """

    name: str
    file: str
    place: str
    rtol: float | None = None
    severity: Literal["error", "warning"] = "error"


def earlier_trainings(
    against: str | None, checks: Sequence[CheckSpec]
) -> tuple[tuple[Earlier, ...], tuple[CheckSpec, ...]]:
    """Return the reports of --against and of checks with same_as, and the other checks.

    Raises
    ------
    RequestError : a report cannot be read, or is not that of a training.
    """
    given = (
        [] if against is None else [Earlier(against, _absolute(against), f"--against {against}")]
    )
    for check in checks:
        if check.rule != _RULE:
            continue
        options = check.options
        if "at" in options:
            raise RequestError(
                "same_as of a training does not support the option 'at'",
                place=check.place,
                hint="remove `at`, or use `hookcli diff --tolerance GLOB=R`",
            )
        name, rtol = options["report"], options.get("rtol")
        severity = check.severity or "error"
        given.append(Earlier(name, _absolute(name), check.place, rtol, severity))
    for earlier in given:
        read_training(earlier.name, earlier.place)
    return tuple(given), tuple(check for check in checks if check.rule != _RULE)


def _absolute(name: str) -> str:
    return os.path.abspath(name)  # noqa: PTH100


def read_training(file: str, place: str) -> TrainingReport:
    """Read the report of a training.

    Raises
    ------
    RequestError : the file cannot be read, or is not the report of a training.
    """
    try:
        report = read_any_report(file)
    except RequestError as error:
        error.place, error.hint = place, _HINT
        raise
    if isinstance(report, Report):
        raise RequestError(not_a_training(file), place=place, hint=_HINT)
    return report


def compared_rows(
    report: TrainingReport, earlier: Sequence[Earlier], rank: int
) -> tuple[CheckRow, ...]:
    """Return a row of the rule same_as for each earlier training.

    A rank other than 0 is compared with its own file, if there is one.
    """
    rows = []
    for one in earlier:
        file = with_rank(one.file, rank)
        if rank and not Path(file).exists():
            continue
        try:
            rows.append(_row(report, one, read_training(file, one.place)))
        except HookcliError as error:  # it was there when the script started
            rows.append(_check_row(one, "error", error.message))
    return tuple(rows)


def _row(report: TrainingReport, one: Earlier, before: TrainingReport) -> CheckRow:
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.comparison.training.compare_trainings import compare_trainings
    from hookcli.comparison.training.parting import SideNames

    limits = Tolerances(() if one.rtol is None else (("*", one.rtol),))
    diff = compare_trainings(before, report, limits, SideNames("the earlier run", "this run"))
    if diff.verdict == "same":
        count = sum(row.figures for row in diff.records)
        if not count:
            return _check_row(one, "skip", f"no figure is in both this run and {one.name}")
        return _check_row(one, "pass", f"{counted(count, 'figure')} agree with {one.name}")
    return _failed(one, diff)


def _failed(one: Earlier, diff: TrainingDiff) -> CheckRow:
    first, resume = diff.first, diff.resume
    if resume is not None and resume.lost is not None:
        row = _check_row(one, "fail", resume.sentence)
        return dataclasses.replace(row, place=resume.place, advice=resume.advice)
    if first is None:
        return _check_row(one, "fail", f"{'; '.join(diff.reasons)}: compared with {one.name}")
    figure = first.figure
    target = figure.name or ""
    if len(diff.records) > 1:
        target = f"{first.record}: {target}" if target else first.record
    return CheckRow(
        rule=_RULE,
        target=target,
        status="fail",
        severity=one.severity,
        value=figure.b,
        limit=figure.a,
        message=first.sentence,
        place=first.other_place,
        fingerprint=_fingerprint(target, figure.kind),
        advice=first.advice or f"compare both reports with `hookcli diff {one.name} REPORT.json`",
    )


def _check_row(
    one: Earlier, status: Literal["pass", "fail", "skip", "error"], message: str
) -> CheckRow:
    return CheckRow(
        rule=_RULE,
        target="",
        status=status,
        severity=one.severity,
        value=None,
        limit=None,
        message=message,
        place=one.place if status == "error" else None,
        fingerprint=_fingerprint("", "training"),
    )


def _fingerprint(target: str, kind: str) -> str:
    from hookcli.rules.judge import fingerprint

    return fingerprint(_RULE, target, kind)
