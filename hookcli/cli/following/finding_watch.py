"""The process that tells findings while a script runs: a line on stderr, or a command of the user.

It reads the journal, so that judging takes no time of the training, and ends with it. It is no
child of the script's process: a script may wait for any of its children.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hookcli.cli.following.followed_run import FollowedRun, RunState
from hookcli.cli.training.script_request import FindingWatch
from hookcli.errors import HookcliError
from hookcli.interpreters.start import run_program
from hookcli.report.training import TrainingReport
from hookcli.training.script.say import say

if TYPE_CHECKING:
    from hookcli.report.findings import Diagnosis

FINDING_SCHEMA = "hookcli.finding/1"
_TICK = 0.25  # seconds between two looks at the journal
_SHARE = 20  # judging takes at most one part in so many of the time
_PATIENCE = 60.0  # seconds for the user's command
_LEVELS = {"error": {"error"}, "warning": {"error", "warning"}}


def main() -> None:
    """Run the process. The only argument is a `FindingWatch` as JSON."""
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):  # it ends with the script, which may go on
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    values = json.loads(sys.argv[1])
    watch = FindingWatch(**{**values, "command": tuple(values["command"])})
    with contextlib.suppress(HookcliError, OSError):  # the journal is gone: the run has ended
        Findings(watch).watch()


class Findings:
    """The findings of a run that were told so far."""

    def __init__(self, watch: FindingWatch) -> None:
        self._watch = watch
        self._told: set[tuple[str, str | None, str]] = set()
        self._run = FollowedRun(watch.journal)
        self._has_failed = False

    def watch(self) -> None:
        """Look at the journal until the run has ended; raises HookcliError when it is gone."""
        while os.path.exists(self._watch.journal):  # noqa: PTH110  # as a string
            begin = time.monotonic()
            is_new, report = self._run.update(), self._run.report
            if report is not None and report.script.status is not None:
                return  # the summary of the run tells the rest
            if is_new and report is not None:
                self.tell(report)
            if self._run.state is RunState.KILLED:
                self._tell_end()
                return
            self._wait(_SHARE * (time.monotonic() - begin))

    def _wait(self, seconds: float) -> None:
        """Wait before the next look, and end the wait when the run has ended."""
        until = time.monotonic() + seconds
        while True:
            time.sleep(_TICK)
            if time.monotonic() >= until or not self._run.goes_on():
                return

    def tell(self, report: TrainingReport) -> None:
        """Tell the findings of a report that were not told before."""
        for finding in report.diagnoses or ():
            key = finding.cause, finding.record, finding.target
            if finding.severity in _LEVELS[self._watch.level] and key not in self._told:
                self._told.add(key)
                self._tell_one(report, finding)

    def _tell_one(self, report: TrainingReport, finding: Diagnosis) -> None:
        if self._watch.tells:
            say(f"hookcli: {finding.severity}: {finding.sentence}")
        if self._watch.command:
            text = json.dumps(self._document(report, finding)).encode()
            why = run_program(self._watch.command, text, _PATIENCE)
            if why is not None and not self._has_failed:
                self._has_failed = True
                say(f"hookcli: the command of --on-finding failed: {why}")

    def _document(self, report: TrainingReport, finding: Diagnosis) -> dict[str, Any]:
        values = {k: v for k, v in asdict(finding).items() if v is not None}
        return {
            "schema": FINDING_SCHEMA,
            "output": self._run.files.output,
            "script": report.script.name,
            "arguments": list(report.script.arguments),
            "rank": report.tracking.rank,
            "steps": self._run.steps(),
            "finding": values,
        }

    def _tell_end(self) -> None:
        """Tell that the run was killed, perhaps for want of memory."""
        if not self._watch.tells:
            return
        steps = self._run.steps()
        last = f"its last step was {steps - 1:,}" if steps else "no step was recorded"
        shown = f"`hookcli render {self._run.files.output}`"
        say(f"hookcli: the run has ended without a report, {last}: see {shown}")
