"""The watcher of a probe, with what it measured."""

from __future__ import annotations

from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.report.findings import Measurement


class ProbeWatcher(Watcher):
    """Watches a run for a rule."""

    measurements: list[Measurement]

    def complete(self) -> None:
        """Add what is known only after the run."""

    def conclude(self, after: AfterRun) -> None:
        """Add the measurements to the recording."""
        self.complete()
        after.recording.measured += self.measurements
