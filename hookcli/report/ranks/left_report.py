"""What a rank leaves for rank 0: its report without what only concerns the rank itself."""

from __future__ import annotations

import dataclasses

from hookcli.report.encode import training_to_json
from hookcli.report.training import TrainingReport


def left_report(report: TrainingReport) -> str:
    """Return the steps and parameters of a report as JSON."""
    records = tuple(
        dataclasses.replace(
            record,
            timings=None,
            layers=(),
            edges=None,
            uncalled=(),
            buffers=(),
            existing_hooks=None,
            events=(),
            measurements=(),
            warnings=(),
        )
        for record in report.records
    )
    slim = dataclasses.replace(report, records=records, others=(), facts=None, looked_for=None,
                                compiler=None, states=None)  # fmt: skip
    return training_to_json(slim)
