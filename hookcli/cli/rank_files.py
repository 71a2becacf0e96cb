"""The files of the ranks after the first: the report that each left, also a dead one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.cli.output import Target, write_file
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS

if TYPE_CHECKING:
    from hookcli.report.report import Report
    from hookcli.worker.attempts import WorkerResult

_GRACE = 8.0  # seconds for rank 0 to say what it saw: torchrun ends all once one has failed


def write_others(ran: WorkerResult, targets: Sequence[Target]) -> None:
    """Beside each file of a format that has them one for every other rank: report.rank1.json."""
    for number, report in sorted(ran.others.items()):
        _write(report, number, targets)


def only_this_rank(ran: WorkerResult, targets: Sequence[Target], console: Console) -> int:
    """Under torchrun, on a rank that is not the first: its own file; rank 0 says the rest."""
    _write(ran.report, ran.rank, targets)
    if ran.report.error is None:
        return Status.FINE
    from hookcli.cli.run_error import run_error

    error = run_error(ran.report)
    error.message = f"rank {ran.rank}: {error.message}"
    console.error(error)
    time.sleep(_GRACE)
    return error.status


def _write(report: Report, number: int, targets: Sequence[Target]) -> None:
    from hookcli.formats.view import View
    from hookcli.spec.ranks import with_rank

    for target in targets:
        if FORMATS[target.format].has_rank_files and target.file is not None:
            write_file(
                Path(with_rank(str(target.file), number)), FORMATS[target.format](report, View())
            )
