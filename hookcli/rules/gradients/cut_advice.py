"""Reads the measurements of where gradients end, and tells what to do about a cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_sentences import operator
from hookcli.report.report import Report

OF_CHECKPOINT = (
    "pass `use_reentrant=False` to `checkpoint`, or call `requires_grad_()` on its input"
)
_ADVICE = {
    "detach": "remove {operator}, or freeze what is in front of it with `requires_grad_(False)`",
    "no_grad": "move the layers out of {operator}, or freeze them with `requires_grad_(False)`",
    "checkpoint": OF_CHECKPOINT,
    "integer": "use a differentiable form, such as a softmax instead of {operator}",
    "operator": "replace {operator} by operators that autograd supports",
    "function": "return a gradient from its `backward`, for each input that requires grad",
    "number": "keep the value a tensor instead of calling {operator}",
}
NOT_MEASURED = "where gradients end was not measured"


def rows_of(report: Report, probe: str) -> list[Measurement] | None:
    """Return the rows that a probe measured; None if it did not run."""
    rows = [m for m in report.measurements if m.probe == probe]
    return rows or None


def why_not(rows: Sequence[Measurement]) -> str | None:
    """Return why the probe measured nothing; None if it did."""
    value = rows[0].value
    if not isinstance(value, Mapping):
        return None
    error = value.get("error")
    if error is not None:
        return f"the model could not be run again: {error}"
    return None if "parameters" in value or "count" in value else value.get("why")


def advice(cut: Mapping[str, Any]) -> str:
    """Return what to try."""
    return _ADVICE[cut["kind"]].format(operator=operator(cut))
