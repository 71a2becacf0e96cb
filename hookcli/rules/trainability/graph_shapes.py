"""Rules about shapes that fit, although they are not those meant, in the graph of a loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import zip_longest

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.training.series import script_line
from hookcli.spec.checks import BACKWARD, request_probe


def _found(report: Report, probe: str) -> list[Measurement]:
    return [m for m in report.measurements if m.probe == probe]


def _without(report: Report, probe: str) -> RuleFinding | None:
    """Return the finding that the graph of no loss was read; None if one was."""
    if report.training is not None and report.training.losses:
        return None
    return skipped(NO_BACKWARD) if report.run.loss is None else None


def _broadcasts(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each part of a loss that compares all pairs of elements."""
    found = _found(report, "loss_broadcasts")
    for one in found:
        first, second = one.value["first"], one.value["second"]
        pairs = math.prod(_together(first, second))
        what = one.value["what"]
        if what == "a prediction":
            yield _widened(report, one)
            continue
        if what.endswith(_OF_TARGET):
            yield _repeated(report, one)
            continue
        subject = f"{what} in the loss" if what.startswith("a ") else what
        message = f"{subject} broadcasts shapes {first} and {second} to {pairs:,} elements: "
        if what in _OF_SAMPLES:
            message += "each sample is combined with every sample"
        else:
            message += "each prediction is combined with each target"
        yield RuleFinding(
            "fail", one.target, what, message, pairs, math.prod(first),
            one.value["place"] or script_line(report, "loss"),
            advice=_KEPT if what in _OF_SAMPLES else _SAME_SHAPE,
        )  # fmt: skip
    if not found:
        yield _without(report, "loss_broadcasts") or passed("no loss compares all pairs")


def _repeated(report: Report, one: Measurement) -> RuleFinding:
    """Return the finding that one target is compared with several predictions."""
    first, second = one.value["first"], one.value["second"]
    many = math.prod(first) // max(1, math.prod(second))
    message = (
        f"{one.value['what'].removesuffix(_OF_TARGET)} broadcasts a target of shape {second} to "
        f"predictions of shape {first}: {many:,} predictions are compared with each target"
    )
    return RuleFinding(
        "fail", one.target, "repeated target", message, many, 1,
        one.value["place"] or script_line(report, "loss"), advice=_SAME_SHAPE,
    )  # fmt: skip


_OF_TARGET = " of a target"  # of what a measurement is about


def _together(first: list[int], second: list[int]) -> list[int]:
    """Return the shape that two shapes broadcast to."""
    pairs = zip_longest(reversed(first), reversed(second), fillvalue=1)
    return [max(pair) for pair in pairs]


def _widened(report: Report, one: Measurement) -> RuleFinding:
    """Return the note that a column of predictions is compared with several columns of targets."""
    first, second = one.value["first"], one.value["second"]
    columns = max(second, default=1) if len(second) < 2 else second[1]
    message = (
        f"a difference in the loss broadcasts predictions {first} to targets {second}: each "
        f"prediction is compared with {columns:,} targets"
    )
    return RuleFinding(
        "fail", one.target, "columns", message, columns, 1,
        one.value["place"] or script_line(report, "loss"), severity="note",
        advice="sum or select the columns of the targets, as in `log_prob.sum(-1, keepdim=True)`",
    )  # fmt: skip


def _reshaped(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each view that swaps sizes instead of dimensions."""
    found = _found(report, "reshaped_axes")
    for one in found:
        first, second = one.value["first"], one.value["second"]
        where = f" in '{one.target}'" if one.target else ""
        if one.value["what"] == "samples":
            yield _regrouped(report, one, where)
            continue
        message = (
            f"a view{where} turns shape {first} into {second}: it keeps the order of the elements, "
            "so that values of different positions are mixed"
        )
        yield RuleFinding(
            "fail", one.target, "view", message, second, first,
            one.value["place"] or script_line(report, "loss"), advice=_TRANSPOSE,
        )  # fmt: skip
    if not found:
        yield _without(report, "reshaped_axes") or passed("no view swaps the sizes of dimensions")


def _regrouped(report: Report, one: Measurement, where: str) -> RuleFinding:
    """Return the note that the rows of a view are not the samples."""
    first, second = one.value["first"], one.value["second"]
    samples, rows = first[0], second[0]
    if samples % rows == 0:
        effect = f"it puts {samples // rows} samples into one row"
    elif rows % samples == 0:
        effect = f"it cuts each sample into {rows // samples} rows"
    else:
        effect = "its rows have values of several samples"
    message = (
        f"a view{where} turns {first} into {second}: {effect}, and the model returns {rows} rows "
        f"for {samples} samples"
    )
    return RuleFinding(
        "fail", one.target, "rows", message, rows, samples,
        one.value["place"] or script_line(report, "loss"), severity="note",
        advice="use `flatten(1)`, which keeps the samples apart",
    )  # fmt: skip


def _classes(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss that reads the classes from another dimension than the last."""
    found = _found(report, "class_dimension")
    for one in found:
        shape = one.value["first"]
        where = f"'{one.target}'" if one.target else "a linear layer"
        message = (
            f"cross_entropy reads the classes of shape {shape} from dimension 1, and {where} has "
            f"its {shape[-1]} outputs in the last dimension"
        )
        place = one.value["place"]  # of the layer: the loss is what must change
        if place is None or report.training is not None:
            place = script_line(report, "loss")
        yield RuleFinding(
            "fail", one.target, "dimension 1", message, 1, len(shape) - 1, place, advice=_FLATTEN
        )
    if not found:
        yield _without(report, "class_dimension") or passed("no loss reads another dimension")


_SAME_SHAPE = (
    "give both the same shape: `squeeze(-1)` for the output, or `unsqueeze(-1)` for the target"
)
_OF_SAMPLES = {"a sum", "a quotient"}
_KEPT = "give both the same shape, as by `keepdim=True`; if all pairs are meant, write `a[:, None]`"
_FLATTEN = "pass `logits.flatten(0, -2)` and `labels.flatten()`, or `logits.movedim(-1, 1)`"
_TRANSPOSE = "use `transpose` or `permute` to swap dimensions; `view` and `reshape` do not"

BROADCASTS = Rule(
    name="loss_broadcasts",
    early=True,
    severity="warning",
    diagnoses=True,
    looks_at="the loss",
    says="a loss compares each prediction with its own target, not with all targets",
    computes="Follows the autograd graph from the loss. The operands of mse_loss, smooth_l1_loss "
    "and huber_loss must not broadcast against each other, each along another dimension. Neither "
    "must a difference or product of a column and a row in a loss that is written by hand, if only "
    "one of the two has a gradient: losses over all pairs of outputs are meant so. A sum or "
    "quotient of [n, 1] and [n] with gradients is a finding, too, if n is the number of samples, "
    "no line adds the dimension, a function that is not linear follows, and nothing else in the "
    "loss has a value for each pair, as a matrix product has. A column of predictions that is "
    "subtracted from several columns of targets is a note.",
    formula="not (shape(output) = [n, 1] and shape(target) = [n]), nor the reverse",
    source="pytorch#16045; torch warns of it in mse_loss and l1_loss, and not in other losses",
    fails="criterion(model(x), y) with outputs of shape [n, 1] and targets of shape [n]",
    mend="squeeze the output, or unsqueeze the target",
    example="{rule: loss_broadcasts}",
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe("loss_broadcasts"),),
    judge=_broadcasts,
)

RESHAPED = Rule(
    name="reshaped_axes",
    severity="warning",
    diagnoses=True,
    looks_at="shapes",
    says="dimensions are swapped by transpose or permute, not by view or reshape",
    computes="Follows the autograd graph from the loss. A view whose result has the sizes of its "
    "input in another order is a finding: it cuts the same sequence of elements at other places. "
    "So is one that splits or merges the dimension of heads with one that does not lie beside it, "
    "one that joins parts of two dimensions, one that puts channels last, one that makes as many "
    "rows of pictures as there are square patches, and one that gives "
    "dimension 0 the size that it had before a permutation moved it. Dimensions of size 1 do not "
    "count. A view of [B, C, H, W] to another number of rows than the B samples, which the model "
    "then returns, is a note. What is cut back at once, as by a slice, is not judged.",
    formula="sorted(sizes before) = sorted(sizes after) implies sizes before = sizes after",
    source="torch.Tensor.view: the result shares the elements in their order",
    fails="x.view(batch, channels, time) for x of shape [batch, time, channels]",
    mend="x.transpose(1, 2)",
    example="{rule: reshaped_axes, severity: error}",
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe("reshaped_axes"),),
    judge=_reshaped,
)

CLASSES = Rule(
    name="class_dimension",
    early=True,
    severity="warning",
    diagnoses=True,
    looks_at="the loss",
    says="cross_entropy reads the classes from the dimension of the outputs of the last layer",
    computes="Follows the autograd graph from the loss. cross_entropy of more than two dimensions "
    "reads the classes from dimension 1, and a linear layer has its outputs in the last one. If "
    "nothing swaps dimensions in between, and both have the same size, so that torch raises no "
    "error, the loss compares positions instead of classes.",
    formula="logits = linear(x), logits.dim() > 2 implies the loss gets logits.movedim(-1, 1)",
    source="torch.nn.CrossEntropyLoss: the input has shape (N, C, d1, ..., dK)",
    fails="cross_entropy(head(x), labels) with logits of shape [batch, 10, 10]: 10 tokens, 10 "
    "classes",
    mend="cross_entropy(head(x).transpose(1, 2), labels)",
    example="{rule: class_dimension, severity: error}",
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe("class_dimension"),),
    judge=_classes,
)
