"""The report of one process of a comparison, which has no rows of its own."""

from __future__ import annotations

from hookcli.engine.assemble import environment, run_info
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.report.report import SCHEMA, ErrorInfo, ModelInfo, Report, Totals
from hookcli.spec.plan import plan
from hookcli.spec.request import Spec


def report_of(
    spec: Spec,
    started: float,
    error: ErrorInfo | None,
    measurements: tuple[Measurement, ...] = (),
) -> Report:
    """Return a report with an error or measurements only."""
    python = "own" if spec.run.python is None else spec.run.python.source
    return Report(
        schema=SCHEMA,
        command=spec.command,
        status="complete" if error is None else "partial",
        environment=environment(started, python),
        model=ModelInfo(source=spec.model.source, format="python"),
        run=run_info(spec, plan(spec).mode, Recording(), tensors="real", device=spec.run.device),
        inputs=None,
        totals=Totals(layers=0, calls=0, parameters=None),
        measurements=measurements,
        error=error,
    )
