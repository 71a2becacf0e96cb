"""Weights as a report without a run, which rules judge and every format of a check shows."""

from __future__ import annotations

from hookcli.report.report import SCHEMA, ModelInfo, ParameterRow, Report, RunInfo, Totals
from hookcli.report.weights.weights_report import WeightsReport, WeightsRow


def as_report(weights: WeightsReport) -> Report:
    """Return a report whose parameters are the tensors of the weights.

    The state of an optimizer is left out. No statistic of it is of a run.
    """
    rows = [row for row in weights.tensors if row.part == "weights"]
    elements = weights.totals.elements
    size = weights.totals.bytes - weights.totals.optimizer_bytes
    if weights.totals.optimizer_tensors:
        elements -= sum(row.numel for row in weights.tensors if row.part == "optimizer")
    return Report(
        schema=SCHEMA,
        command="check",
        status="complete",
        environment=weights.environment,
        model=ModelInfo(weights.source, "weights", parameters=elements, parameter_bytes=size),
        run=RunInfo("real" if weights.values else "fake", None, "as-is", "cpu", 0),
        inputs=None,
        totals=Totals(0, 0, elements),
        parameters=tuple(_parameter(row) for row in rows),
        warnings=weights.warnings,
    )


def _parameter(row: WeightsRow) -> ParameterRow:
    return ParameterRow(
        name=row.name,
        module_type="",
        shape=row.shape,
        dtype=row.dtype,
        numel=row.numel,
        requires_grad=False,
        shared_with=row.shared_with or (),
        stats=row.stats,
    )
