"""The memory of training steps: a table with one row for each, and lines of text."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats.parts.grid import LAST_TURN, Column
from hookcli.formats.parts.text import size
from hookcli.formats.view import View
from hookcli.report.memory import TrainingMemory
from hookcli.report.report import Report


def label(row: TrainingMemory) -> str:
    """Return what a row is for: `AdamW, batch 32, float16`, with the options of the what-if."""
    parts = [row.optimizer]
    if row.what_if is not None:
        shown = {"optimizer", "batch", "dtype", "autocast"}
        options = [part.strip() for part in row.what_if.split(",")]
        parts += [part for part in options if part.partition("=")[0].strip() not in shown]
    parts += [] if row.batch is None else [f"batch {row.batch:,}"]
    if row.autocast is not None:
        parts.append(f"autocast {row.autocast}")
    elif row.dtype is not None:
        parts.append(row.dtype)
    return escape(", ".join(part for part in parts if part))


def _model(row: TrainingMemory) -> int | None:
    """Return the bytes of parameters, buffers and inputs."""
    sizes = (row.parameter_bytes, row.buffer_bytes, row.input_bytes)
    return None if None in sizes else sum(each for each in sizes if each)


def training_columns() -> dict[str, Column[TrainingMemory]]:
    """Return the columns of the table."""

    def figure(title: str, of: str) -> Column[TrainingMemory]:
        return Column(title, lambda row: size(getattr(row, of)), right=True)

    return {
        "training": Column("Training with", label, turns=((LAST_TURN, 16),)),
        "model": Column("Model", lambda row: size(_model(row)), right=True),
        "state": figure("Optimizer", "state_bytes"),
        "forward": figure("Forward", "forward_peak_bytes"),
        "backward": figure("Backward", "backward_peak_bytes"),
        "step": figure("Step", "step_peak_bytes"),
        "total": figure("Total", "total_bytes"),
    }


def training_totals(report: Report) -> list[tuple[str, str]]:
    """Return a (label, text) line with the total for each training step."""
    rows = () if report.memory is None else report.memory.training
    return [(f"Training with {label(row)}", size(row.total_bytes)) for row in rows]


def training_notes(report: Report) -> list[str]:
    """Return why totals are unknown."""
    rows = () if report.memory is None else report.memory.training
    return [f"training with {label(row)}: {escape(row.note)}" for row in rows if row.note]


def nothing_saved(report: Report, view: View) -> list[str]:
    """Return the note about a column `saved` without a figure, because autograd saved nothing."""
    calls = [row.memory for row in report.layers if row.memory is not None]
    if "saved" not in (view.asked or ()) or not calls or any(c.saved_bytes != 0 for c in calls):
        return []
    return ["nothing was saved for backward: with --no-grad, or if nothing requires grad"]
