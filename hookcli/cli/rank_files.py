"""The report files of the ranks after the first, also of ranks that died."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.cli.output import Target, write_file
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.spec.ranks import with_rank, with_rank_0

if TYPE_CHECKING:
    from hookcli.formats.results import Result
    from hookcli.worker.attempts import WorkerResult

_GRACE = 8.0  # seconds for rank 0 to print: torchrun ends all ranks after one has failed


def write_others(ran: WorkerResult, targets: Sequence[Target]) -> None:
    """Write a file for each other rank, such as report.rank1.json, if the format has such files."""
    for number, report in sorted(ran.others.items()):
        write_rank(report, number, targets)


def only_this_rank(ran: WorkerResult, targets: Sequence[Target], console: Console) -> int:
    """Write the file of a rank of torchrun that is not the first. Rank 0 prints the rest."""
    write_rank(ran.report, ran.rank, targets)
    if ran.report.error is None:
        return Status.FINE
    from hookcli.cli.run_error import run_error

    error = run_error(ran.report)
    error.message = f"rank {ran.rank}: {error.message}"
    console.error(error)
    time.sleep(_GRACE)
    return error.status


def write_rank(result: Result, number: int, targets: Sequence[Target]) -> None:
    """Write the files of a rank in the formats that have such files."""
    _write(result, targets, lambda file: with_rank(file, number))


def write_own(result: Result, targets: Sequence[Target]) -> None:
    """Write rank 0's own part of a training, such as report.rank0.json, beside that of all."""
    _write(result, targets, with_rank_0)


def _write(result: Result, targets: Sequence[Target], name: Callable[[str], str]) -> None:
    for target in targets:
        row = FORMATS[target.format]
        if row.has_rank_files and target.file is not None:
            write_file(Path(name(str(target.file))), row.render(result, View()))
