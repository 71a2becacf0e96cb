"""`label_in_inputs`: the inputs of a model do not have the target that it must predict."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, skipped
from hookcli.rules.training.series import script_line

_COPIED, _RELATION = "copied_label", "label_relation"  # measurements


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if one value of each sample is its target."""
    if report.training is None:
        yield not_a_training()
        return
    found = [one for one in report.measurements if one.probe == _COPIED]
    for one in found:
        column, samples = one.value["column"], one.value["samples"]
        message = (
            f"value {column:,} of each input, counted from 0, is the target itself, in all of "
            f"{samples:,} samples: the model can copy it"
        )
        yield RuleFinding(
            "fail", "", "copied", message, samples, 0, script_line(report, "loss"),
            advice="remove the target from the inputs; a window must end before what is predicted",
        )  # fmt: skip
    if found:
        return
    if any(one.probe == _RELATION for one in report.measurements):
        yield passed("no value of the inputs is the target")
    else:
        yield skipped("there were too few samples with one target each")


RULE = Rule(
    name="label_in_inputs",
    severity="warning",
    of_training=True,
    looks_at="targets",
    says="the inputs do not have the target that is to be predicted",
    computes="Keeps at least 200 samples of a loss of classes, or of values with one target for "
    "each sample, and compares inputs with targets. Fails if the same place of each input has the "
    "target itself. Of inputs with more than 256 values, every second or third one and so on "
    "is compared; tokens are not.",
    formula="x[i, k] != y[i] for some i, for each k",
    source="Kaufman et al. 2012, Leakage in data mining",
    fails="x, y = table, table[:, 3]; windows x = series[t : t + 8], y = series[t + 7]",
    mend="leave column 3 out of x; y = series[t + 8]",
    example="{rule: label_in_inputs, severity: error}",
    judge=judge,
)
