"""Follows runs until all have ended: on the terminal, in files, or with one summary."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookcli.cli.ci import source_root
from hookcli.cli.following import live_view
from hookcli.cli.following.followed_run import FollowedRun, RunState
from hookcli.cli.following.run_view import render
from hookcli.cli.output import Target, deliver, parse_targets
from hookcli.cli.training.saved_journal import Journaled
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.formats.view import View

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags

_OVER = {RunState.ENDED, RunState.KILLED}


def follow_runs(
    names: Sequence[str], output: OutputFlags, console: Console, *, every: float
) -> int:
    """Show runs as long as one of them is not over. Without a terminal or files, show them once.

    Raises
    ------
    RequestError : a run does not exist, a file cannot be written, or the command line is wrong.
    """
    targets = _targets(names, output, console)
    runs = [FollowedRun(name) for name in names]
    is_live = live_view.is_possible() and all(target.file is not None for target in targets)
    files = LiveFiles(runs[0], targets, console, every)

    def updated() -> bool:
        """Look at all runs; return whether one of them goes on."""
        for run in runs:
            run.update()
        files.write()
        return any(run.state not in _OVER for run in runs)

    if is_live:
        live_view.show(runs, lambda: _view(console), console, every=every, updated=updated)
    else:
        goes_on = updated()
        while goes_on and targets:
            time.sleep(every)
            goes_on = updated()
    if is_live or not targets:
        console.out(render(runs, _view(console)))
    return Status.FINE


def _targets(names: Sequence[str], output: OutputFlags, console: Console) -> tuple[Target, ...]:
    if not output.formats and output.output is None:
        return ()
    if len(names) > 1:
        raise RequestError(
            "a file shows one run, got several",
            place=" ".join(names),
            hint="run `hookcli follow` once for each run, each with its own file",
        )
    files = Journaled.of(names[0])
    targets = parse_targets(
        output, read=[files.output, files.journal], console=console, kinds=("run",)
    )
    if any(target.file is None for target in targets):
        raise RequestError(
            "a format of a run that is followed requires a file",
            place=" ".join(f"-f {target.format}" for target in targets),
            hint="add a file, as in `-f html=live.html`, or omit `-f` for a summary",
        )
    return targets


def _view(console: Console) -> View:
    root, start = source_root()
    return View(
        width=console.width(),
        unicode=console.unicode(),
        color=console.colored(),
        root=root,
        start=start,
    )


class LiveFiles:
    """The files of a run that are written again when its journal has something new."""

    def __init__(
        self, run: FollowedRun, targets: Sequence[Target], console: Console, every: float
    ) -> None:
        self._run, self._targets, self._console = run, targets, console
        self._every = every
        self._shown: object = None

    def write(self) -> None:
        """Write the files, if there is something new; raises RequestError if that is impossible."""
        report = self._run.report
        if not self._targets or report is None or report is self._shown:
            return
        self._shown = report
        reload = None if self._run.state in _OVER else max(1, round(self._every))
        view = dataclasses.replace(_view(self._console), reload=reload)
        deliver(report, self._targets, view, self._console)
