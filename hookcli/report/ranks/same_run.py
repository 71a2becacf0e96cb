"""Whether reports are those of the ranks of one run, so that they can be joined."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.errors import RequestError
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.sentences import not_a_training

_SKEW = 600  # seconds by which the clocks of two machines may differ
_HINT = "pass the files that the ranks of one `hookcli run` wrote, each once"


def check_same_run(files: Sequence[tuple[str, Report | TrainingReport]]) -> list[TrainingReport]:
    """Return the reports of ranks that can be joined.

    Raises
    ------
    RequestError : a file is not of a rank, is joined already, or is of another run or of a rank
        that another file is of.
    """
    reports: list[TrainingReport] = []
    first_file = files[0][0]
    seen: dict[int, str] = {}
    for file, report in files:
        if not isinstance(report, TrainingReport):
            raise RequestError(not_a_training(file), place=file, hint=_HINT)
        _check_rank(file, report)
        reports.append(report)
        difference = _difference(reports[0], report)
        if difference is not None:
            raise RequestError(
                f"{file} is of another run than {first_file}: {difference}", place=file, hint=_HINT
            )
        rank = report.tracking.rank
        if rank in seen:
            raise RequestError(
                f"{seen[rank]} and {file} are both of rank {rank}", place=file, hint=_HINT
            )
        seen[rank] = file
    return reports


def _check_rank(file: str, report: TrainingReport) -> None:
    if report.tracking.world_size < 2:
        raise RequestError(
            f"{file} is of a training on one rank: there is nothing to join",
            place=file,
            hint=_HINT,
        )
    joined = next(
        (
            record.training.joined
            for record in report.records
            if record.training is not None and record.training.joined is not None
        ),
        None,
    )
    if joined is not None:
        raise RequestError(
            f"{file} is already joined, of rank {joined.ranks}",
            place=file,
            hint="pass the file of rank 0 itself, such as run.rank0.json, instead",
        )


def _difference(first: TrainingReport, other: TrainingReport) -> str | None:
    """Return why two reports are not of one run; None if nothing speaks against it."""
    ours, theirs = first.tracking, other.tracking
    if ours.world_size != theirs.world_size:
        return f"it has {theirs.world_size:,} ranks, not {ours.world_size:,}"
    if (first.script.name, first.script.arguments) != (other.script.name, other.script.arguments):
        return "the script or its arguments differ"
    if ours.job != theirs.job:
        return "it was started by another command"
    if ours.started is not None and theirs.started is not None:
        ends = [
            ours.started + first.environment.seconds,
            theirs.started + other.environment.seconds,
        ]
        if max(ours.started, theirs.started) > min(ends) + _SKEW:
            return "one ended before the other began"
    return None
