"""`pooled_channels` and `reused_layer`: how layers use the results of others, and of themselves."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import rows_with
from hookcli.spec.checks import BACKWARD, request_probe

CHANNELS, REUSED = "pooled_channels", "reused_layers"


def _passed(report: Report, message: str) -> RuleFinding:
    return skipped(NO_BACKWARD) if report.run.loss is None else passed(message)


def _pooled(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each layer whose channels are averaged instead of its positions."""
    rows = rows_with(report, CHANNELS, "of")
    found = {value["of"]: (name, value) for name, value in reversed(rows)}
    for layer, (name, value) in found.items():
        shape = value["shape"]
        message = (
            f"{value['what']} is over dimension 1 of {shape}, the {shape[1]:,} channels of "
            f"'{layer}', not over dimension 2"
        )
        yield RuleFinding(
            "fail", name, "channels", message, 1, 2, value["place"] or report.model.place,
            severity="note",
            advice="use `mean(dim=2)` to average over the positions",
        )  # fmt: skip
    if not found:
        yield _passed(report, "no mean before a linear layer is over channels")


def _reused(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each layer that is called at several lines, one after the other."""
    found = rows_with(report, REUSED, "lines")
    for name, value in found:
        lines = [str(line) for line in value["lines"]]
        message = (
            f"'{name}' ({value['type']}) runs {len(lines)} times in one forward, called at "
            f"lines {', '.join(lines[:-1])} and {lines[-1]}: these calls share one weight"
        )
        yield RuleFinding(
            "fail", name, "lines", message, len(lines), 1, value["place"], severity="note",
            advice="make a layer for each call, unless they are to share their weights",
        )  # fmt: skip
    if not found:
        yield _passed(report, "no layer is called at several lines with its own results")


POOLED = Rule(
    name="pooled_channels",
    severity="warning",
    diagnoses=True,
    looks_at="means",
    says="a mean before a linear layer is over positions, not over channels",
    computes="Follows the autograd graph from the loss. A mean, variance or standard deviation "
    "over dimension 1 of [samples, channels, positions], the result of a convolution or a batch "
    "norm, is a note if the dimension is removed and a linear layer gets the result. Means that "
    "keep the dimension, as those of spatial attention, are not judged.",
    formula="mean over dim = 2 of conv(x) with shape [B, C, T]",
    source="modelscope/FunASR#226; torch.nn.Conv1d: the result has shape (N, C, L)",
    fails="self.fc(self.conv(x).mean(dim=1)), where conv is an nn.Conv1d",
    mend="self.fc(self.conv(x).mean(dim=2))",
    example="{rule: pooled_channels}",
    needs=lambda options: (BACKWARD, request_probe(CHANNELS)),
    watches=lambda options: (request_probe(CHANNELS),),
    judge=_pooled,
)

REUSE = Rule(
    name="reused_layer",
    severity="warning",
    diagnoses=True,
    looks_at="layers",
    says="no layer is called at several lines, each time with a result of the call before",
    computes="Notes the line of each call of a linear layer or a convolution, and follows the "
    "autograd graph from the loss. A layer that one forward calls at several lines, each call with "
    "a result of the one before, is a note: these calls share one weight. Calls at one line, as in "
    "a loop, and calls that do not depend on each other, as of a siamese network, are not judged.",
    formula="layer(f(layer(x))), written at two lines",
    source="SSinyu/RED-CNN#8",
    fails="x = relu(self.conv(x)) on one line, and again on the next one",
    mend="self.conv1 and self.conv2",
    example="{rule: reused_layer}",
    needs=lambda options: (BACKWARD, request_probe(REUSED)),
    watches=lambda options: (request_probe(REUSED),),
    judge=_reused,
)
