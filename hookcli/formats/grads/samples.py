"""The loss and the gradient norm of each sample of a batch: `grads --per-sample`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hookcli.console import escape
from hookcli.formats.document.document import TableBlock
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.text import figure
from hookcli.report.report import Report
from hookcli.report.values import Number
from hookcli.text import join_names

PROBE = "per_sample"
_SHOWN = 10  # samples of a table


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One sample: its number, its loss if that is known, and the norm of its gradient."""

    sample: int
    loss: Number | None
    norm: Number


def value_of(report: Report) -> dict[str, Any] | None:
    """Return what was measured of the samples; None if nobody asked for it."""
    values = (one.value for one in report.measurements if one.probe == PROBE)
    return next(values, None)


def tables(report: Report) -> list[TableBlock[SampleLine]]:
    """Return a table of the samples with the largest gradients; none if they are not known."""
    value = value_of(report)
    if value is None or "norms" not in value:
        return []
    losses = value["losses"] or [None] * len(value["norms"])
    rows = [
        SampleLine(i, loss, norm)
        for i, (loss, norm) in enumerate(zip(losses, value["norms"], strict=True))
    ]
    rows.sort(key=lambda row: -_size(row.norm))
    columns: dict[str, Column[SampleLine]] = {
        "sample": Column("Sample", lambda row: str(row.sample), right=True)
    }
    if value["losses"] is not None:
        columns["loss"] = Column("Loss", lambda row: figure(row.loss), right=True)
    columns["norm"] = Column("Grad norm", lambda row: figure(row.norm), right=True)
    return [TableBlock(columns, rows[:_SHOWN], "sample")]


def _size(norm: Number) -> float:
    return float(norm)


def totals(report: Report) -> list[tuple[str, str]]:
    """Return a line about the samples that dominate the gradient, or that none does."""
    value = value_of(report)
    if value is None or "norms" not in value:
        return []
    names = [str(sample) for sample in value["dominant"]]
    many = f"{len(value['norms']):,}"
    if not names:
        return [("Samples", f"{many}, of which none dominates the gradient")]
    noun, verb = ("sample", "makes") if len(names) == 1 else ("samples", "make")
    text = f"{noun} {join_names(names)} of {many} {verb} the gradient"
    return [("Samples", f"{text}: without, its norm is {figure(value['without'])}")]


def notes(report: Report) -> Sequence[str]:
    """Return why samples or their losses are not known, and how many are not shown."""
    value = value_of(report)
    if value is None:
        return []
    if "norms" not in value:
        reason = value.get("why") or value.get("error") or ""
        return [f"the samples are not shown: {escape(' '.join(str(reason).split()))}"]
    found = []
    if len(value["norms"]) > _SHOWN:
        found.append(f"the {_SHOWN} samples with the largest gradients are shown")
    if value["losses"] is None:
        found.append(
            "the loss of the batch is neither the mean nor the sum of those of its samples"
        )
    elif value["reduction"] == "mean":
        found.append(
            "the loss is the mean over samples: the gradient of each one is divided by their number"
        )
    return found
