"""What rules about training say about the loss of a run."""

from __future__ import annotations

from hookcli.report.report import Report
from hookcli.rules.rule import NO_BACKWARD, RuleFinding, skipped

_SYNTHETIC = {"probe", "sum", "mean", "gradient"}  # its size means nothing


def without_loss(report: Report) -> RuleFinding | None:
    """Return the finding that the loss of the run is not a real one; None if it is.

    The losses of a training are those of the script.
    """
    if report.training is not None and report.training.losses:
        return None
    if report.run.loss is None:
        return skipped(NO_BACKWARD)
    if report.run.loss in _SYNTHETIC:
        return skipped("the run has no loss of your model: pass `--loss`")
    return None
