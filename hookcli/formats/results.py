"""What a format can show: the kinds of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.training.training_diff import TrainingDiff
    from hookcli.report.report import Report
    from hookcli.report.training import TrainingReport
    from hookcli.report.weights.weights_diff import WeightsDiff
    from hookcli.report.weights.weights_report import WeightsReport

Result: TypeAlias = "Report | TrainingReport | Diff | TrainingDiff | WeightsReport | WeightsDiff"

# The report of a run, that of a training script, and the comparisons of two of them; that of
# weights without a model, and the comparison of two of these.
Kind: TypeAlias = Literal["report", "run", "diff", "rundiff", "weights", "weights_diff"]
REPORTS: tuple[Kind, ...] = ("report", "run")
KINDS: tuple[Kind, ...] = (*REPORTS, "diff", "rundiff", "weights", "weights_diff")


def kind_of(result: Result) -> Kind:
    """Return the kind of a result, which its schema names."""
    return cast(Kind, result.schema.removeprefix("hookcli.").partition("/")[0])
