"""The watcher of a probe, with what it measured."""

from __future__ import annotations

from hookcli.report.findings import Measurement
from hookcli.run.observe.watcher import Watcher


class ProbeWatcher(Watcher):
    """Watches a run for a rule. `measurements` are complete after `conclude`."""

    measurements: list[Measurement]

    def conclude(self) -> None:
        """Add what is known only after the run."""
