"""Patterns in the graph of a loss: softmaxes, norms, linear layers and similarities."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.rule import FAKE, NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import join_names

AXES, CHAINS, NORMS = "softmax_axes", "linear_chains", "single_norms"
SIMILARITIES, MASKED = "self_similarities", "masked_shares"
AFTER, SHARP, WEAK = "scaled_shares", "sharp_scores", "weak_masks"
SCALES, NARROW, CHOICES = "unequal_scales", "narrow_units", "equal_choices"
DOUBLED, CHANGED, NORMED = "self_sums", "changed_shortcuts", "norm_dimensions"


def _found(report: Report, probe: str) -> list[Measurement]:
    return [m for m in report.measurements if m.probe == probe and isinstance(m.value, dict)]


def _passed(report: Report, message: str, *, of_values: bool = False) -> RuleFinding:
    if report.run.loss is None and not (report.training and report.training.losses):
        return skipped(NO_BACKWARD)
    if of_values and report.run.tensors == "fake":
        return skipped(FAKE)
    return passed(message)


def _subject(one: Measurement, what: str) -> str:
    """Return what a module of torch.nn, or a function in the code of another one, is called."""
    kind = one.value["module"]
    if kind is None:
        return what
    if what in kind.lower() and one.target:
        return f"'{one.target}' ({kind})"
    return f"{what} in '{one.target}' ({kind})" if one.target else f"{what} in the model ({kind})"


def _softmax(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each attention whose weights do not sum to 1."""
    found = [one for one in _found(report, AXES) if one.value["summed"] is not None]
    for one in found:
        dim, shape, summed = one.value["dim"], one.value["shape"], one.value["summed"]
        message = (
            f"{_subject(one, 'softmax')} is over dimension {dim} of scores {shape}, but the "
            f"product with values sums over dimension {summed}: weights do not sum to 1"
        )
        yield RuleFinding(
            "fail", one.target, "axis", message, dim, summed,
            one.value["place"] or report.model.place,
            advice=f"use `softmax(dim={summed})`, the dimension of the keys",
        )  # fmt: skip
    masked = _found(report, MASKED)
    for one in masked:
        rows, many, shape = one.value["rows"], one.value["of"], one.value["shape"]
        message = (
            f"{_subject(one, 'attention')} masks the result {shape} of softmax: weights of "
            f"{rows:,} of {many:,} rows do not sum to 1"
        )
        yield RuleFinding(
            "fail", one.target, "mask", message, rows, 0,
            one.value["place"] or report.model.place,
            advice="mask the scores with -inf before the softmax",
        )  # fmt: skip
    weak = _found(report, WEAK)
    for one in weak:
        share, rows = one.value["share"], one.value["rows"]
        message = (
            f"{_subject(one, 'softmax')} gives masked scores {share:.2g} of the weight in "
            f"{rows:,} rows: the value that they are filled with is not far below the others"
        )
        yield RuleFinding(
            "fail", one.target, "weak mask", message, share, 0,
            one.value["place"] or report.model.place,
            advice='fill them with `float("-inf")`, or with a large negative number such as -1e9',
        )  # fmt: skip
    parts = _found(report, SCALES)
    for one in parts:
        factors = join_names([f"{scale:.4g}" for scale in one.value["scales"]])
        message = (
            f"{_subject(one, 'softmax')} is over scores that are multiplied by {factors}, part by "
            "part: the temperature is that of some of them only"
        )
        yield RuleFinding(
            "fail", one.target, "scales", message, place=one.value["place"] or report.model.place,
            advice="divide all scores by the temperature, after they are joined",
        )  # fmt: skip
    others = [*parts, *_found(report, AFTER), *_found(report, SHARP)]
    for one in others[len(parts) :]:
        yield _of_scale(report, one)
    if not found and not masked and not weak and not others:
        message = "the weights of no attention are normalized over another dimension"
        yield _passed(report, message, of_values=True)


def _of_scale(report: Report, one: Measurement) -> RuleFinding:
    """Return the finding about scores that are not scaled, or scaled after the softmax."""
    where = one.value["place"] or report.model.place
    if one.probe == AFTER:
        factor = one.value["factor"]
        message = (
            f"{_subject(one, 'attention')} multiplies the weights by {factor:.4g} after the "
            "softmax: they do not sum to 1, and the scores are not scaled"
        )
        advice = "multiply the scores by the factor, in front of the softmax"
        return RuleFinding("fail", one.target, "after", message, factor, 1, where, advice=advice)
    terms, share, heads = one.value["terms"], one.value["share"], one.value.get("heads", 1)
    if heads > 1:
        message = (
            f"{_subject(one, 'attention')} divides its scores, products of {terms:,} terms, by "
            f"sqrt({terms * heads}), the size of all {heads} heads: the softmax is flatter"
        )
        return RuleFinding(
            "fail", one.target, "heads", message, terms * heads, terms, where, "note",
            advice=f"divide the scores by sqrt({terms})",
        )  # fmt: skip
    if not share:
        message = (
            f"{_subject(one, 'attention')} multiplies its scores, products of {terms:,} terms, by "
            f"sqrt({terms}), and must divide them by it"
        )
        advice = f"divide the scores by sqrt({terms})"
        return RuleFinding("fail", one.target, "widened", message, 1, 0, where, advice=advice)
    message = (
        f"{_subject(one, 'attention')} does not scale its scores, products of {terms:,} terms: the "
        f"softmax is one-hot, with a weight above 0.9 in {share:.0%} of the rows"
    )
    return RuleFinding(
        "fail", one.target, "sharp", message, share, 0.5, where,
        advice=f"divide the scores by sqrt({terms})",
    )  # fmt: skip


def _one_value(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each norm over one value, and each softmax over one."""
    declared = report.inputs is None or report.inputs.origin != "inferred"
    norms = [one for one in _found(report, NORMS) if declared or one.value["module"] == "LayerNorm"]
    softmaxes = [one for one in _found(report, AXES) if one.value["summed"] is None]
    for one in norms:
        yield _of_one(
            report, one, f"{_subject(one, 'norm')} normalizes one value at a time",
            "remove the norm, or normalize over the features",
        )  # fmt: skip
    for one in softmaxes:
        yield _of_one(
            report, one, f"{_subject(one, 'softmax')} is over one element",
            "use a sigmoid for one output, or give the layer an output for each class",
        )  # fmt: skip
    if not norms and not softmaxes:
        yield _passed(report, "every norm and softmax is over several values")


def _of_one(report: Report, one: Measurement, what: str, advice: str) -> RuleFinding:
    message = f"{what}: its output {one.value['shape']} is constant, and no gradient passes"
    place = one.value["place"] or report.model.place
    return RuleFinding("fail", one.target, "one value", message, 1, 2, place, advice=advice)


def _linear(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each linear layer behind another one."""
    narrow = _found(report, NARROW)
    for one in narrow:
        layer = f"'{one.target}'" if one.target else "a linear layer"
        message = (
            f"{layer} has one unit with a ReLU for {one.value['inputs']:,} inputs: all that the "
            "next layer gets is one number, often 0"
        )
        yield RuleFinding(
            "fail", one.target, "one unit", message, 1, 2, one.value["place"],
            advice="give the layer more units, or remove what is behind it",
        )  # fmt: skip
    found = _found(report, CHAINS)
    for one in found:
        first, hidden = one.value["first"], one.value["hidden"]
        if "layers" in one.value:
            yield _in_a_row(one)
            continue
        message = (
            f"no activation is between '{first}' and '{one.target}': both linear layers compute "
            f"one linear map, which the {hidden:,} values in between do not limit"
        )
        yield RuleFinding(
            "fail", one.target, f"after {first}", message, place=one.value["place"],
            severity="note", advice="put an activation between them, or use one linear layer",
        )  # fmt: skip
    if narrow:
        return
    if not found and report.training is not None:  # the calls inside of a root are not known
        yield skipped(NO_BACKWARD)
    elif not found:
        yield _passed(report, "no linear layer follows another one directly")


def _choices(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each choice among values that are equal."""
    found = _found(report, CHOICES)
    for one in found:
        message = (
            f"{_subject(one, 'gather')} chooses along dimension {one.value['dim']} of "
            f"{one.value['shape']}, where a tensor is repeated: whatever the index is, the values "
            "are the same"
        )
        yield RuleFinding(
            "fail", one.target, "equal values", message, place=one.value["place"],
            advice="repeat the tensor along the other dimension, or gather along another one",
        )  # fmt: skip
    if not found:
        yield _passed(report, "a gather chooses among different values")


def _in_a_row(one: Measurement) -> RuleFinding:
    """Return the note on linear layers with only batch norms and dropout in between."""
    count = one.value["layers"]
    if one.value.get("convolutions"):
        message = (
            f"{count} convolutions from '{one.value['first']}' to '{one.target}' follow each other "
            "without an activation: they compute one linear map"
        )
        return RuleFinding(
            "fail", one.target, f"after {one.value['first']}", message, count, 1,
            one.value["place"], severity="note",
            advice="put an activation, such as ReLU, between them",
        )  # fmt: skip
    if one.value.get("whole"):
        message = (
            f"the model has no activation: its {count} layers, from '{one.value['first']}' to "
            f"'{one.target}', compute one linear map"
        )
        return RuleFinding(
            "fail", one.target, "no activation", message, count, 1, one.value["place"],
            severity="note", advice="put an activation, such as ReLU, between the layers",
        )  # fmt: skip
    message = (
        f"{count} linear layers from '{one.value['first']}' to '{one.target}' have batch norms or "
        "dropout in between, but no activation: in eval mode they compute one linear map"
    )
    return RuleFinding(
        "fail", one.target, f"after {one.value['first']}", message, place=one.value["place"],
        severity="note", advice="put an activation between them, or use one linear layer",
    )  # fmt: skip


def _similarity(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss in which each sample is a negative of itself."""
    found = _found(report, SIMILARITIES)
    for one in found:
        count = one.value["samples"]
        message = (
            f"cross_entropy gets the similarities of {count:,} samples with each other, and of "
            "each with itself: the diagonal is the largest negative in each row"
        )
        yield RuleFinding(
            "fail", one.target, "diagonal", message, count, 0,
            one.value["place"] or report.model.place,
            advice="mask the diagonal with -inf before the loss, or remove it",
        )  # fmt: skip
    if not found:
        yield _passed(report, "no loss compares samples with themselves", of_values=True)


def _dimensions(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer norm over positions, and a note for such a batch norm."""
    found = _found(report, NORMED)
    for one in found:
        shape, dims, last = one.value["shape"], one.value["dims"], one.value["last"]
        features, positions = one.value["features"], one.value["positions"]
        name = f"'{one.target}' ({one.value['module']})" if one.target else "the model"
        if one.value["batch_norm"]:
            message = (
                f"{name} has statistics for each of the {positions:,} positions of {shape}, not "
                f"for the {features:,} features that a linear layer has in the last dimension"
            )
            yield _note(report, one, "positions", message, "transpose before and after it")
            continue
        over = join_names([str(dim) for dim in dims], len(dims))
        message = (
            f"{name} averages over dimension {over} of {shape} instead of dimension {last}, whose "
            f"{features:,} features its weights scale"
        )
        yield RuleFinding(
            "fail", one.target, "dimension", message, place=one.value["place"],
            advice="use `mean(-1, keepdim=True)` and the same for the deviation, or nn.LayerNorm",
        )  # fmt: skip
    if not found:
        yield _passed(report, "norms average over the dimension of features")


def _shortcuts(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each sum of a tensor with itself, or with an input changed in place."""
    doubled, changed = _found(report, DOUBLED), _found(report, CHANGED)
    for one in doubled:
        if one.value.get("is_again"):
            message = (
                f"{_subject(one, 'a sum')} adds a tensor {one.value['shape']} that is a term of "
                "the sum already: it is added twice"
            )
            yield _note(report, one, "twice", message, "add the shortcut once")
            continue
        message = (
            f"{_subject(one, 'a sum')} adds a tensor {one.value['shape']} to itself: another one "
            "may be meant, as the input of the layer or the result of another branch"
        )
        yield _note(
            report, one, "itself", message, "keep the other tensor in a variable, and add it"
        )
    for one in changed:
        message = (
            f"{_subject(one, 'a sum')} adds the block's input, which '{one.value['by']}' "
            f"({one.value['type']}) has changed in place: the shortcut has the activated values"
        )
        yield _note(report, one, "in place", message, "remove `inplace=True`")
    if not doubled and not changed:
        yield _passed(report, "no residual connection adds a tensor to itself")


def _note(report: Report, one: Measurement, kind: str, message: str, advice: str) -> RuleFinding:
    return RuleFinding(
        "fail", one.target, kind, message, place=one.value["place"] or report.model.place,
        severity="note", advice=advice,
    )  # fmt: skip


_OF_SOFTMAX = (AXES, MASKED, WEAK, SCALES, AFTER, SHARP)

SOFTMAX = Rule(
    name="softmax_dimension",
    severity="warning",
    diagnoses=True,
    looks_at="attention",
    says="the weights of an attention sum to 1 over the keys",
    computes="Follows the autograd graph from the loss. The softmax of products of two computed "
    "values, as of queries and keys, must sum to 1 along the dimension that the product with the "
    "values sums over. Not judged: a softmax that is used in several ways, as to divide by its "
    "sum, one whose scores are not such products, as of a soft assignment, and a product of two "
    "softmaxes. A mask after a softmax, before the product, is a finding if some rows lose a "
    "share of their weights; and so is one in front of it if masked scores keep a fifth or more of "
    "what they would have if all were equal. Weights that are multiplied by one number after the "
    "softmax are one, too; and scores that nothing scales, products of at least 16 terms of two "
    "linear layers, if more than half of the rows of their softmax have a weight above 0.9. So are "
    "scores that are joined, of which some have a temperature and others not. Scores that are "
    "divided by the root of the size of all heads, of which each has only its part, are a note.",
    formula="sum over the keys of softmax(scores) = 1, before dropout",
    source="Vaswani et al. 2017, equation 1; torch.softmax",
    fails="torch.softmax(q @ k.transpose(-2, -1), dim=1) @ v, with the heads in dimension 1",
    mend="use dim=-1 in softmax, if the keys are in the last dimension of the scores",
    example="{rule: softmax_dimension, severity: error}",
    needs=lambda options: (BACKWARD, *map(request_probe, _OF_SOFTMAX)),
    watches=lambda options: tuple(map(request_probe, _OF_SOFTMAX)),
    judge=_softmax,
)

NORM_DIMENSION = Rule(
    name="norm_dimension",
    severity="warning",
    diagnoses=True,
    looks_at="norms",
    says="a norm averages over the features",
    computes='Follows the autograd graph from the loss. A class whose name has "layer" and '
    '"norm", and whose weights have the size of the last dimension, must not average over other '
    "dimensions. A BatchNorm1d that gets the result of a linear layer as [samples, positions, "
    "features] is a note: it takes the positions for channels. Dimensions of equal size are not "
    "judged.",
    formula="mean over dim = -1, where weight.shape = [x.shape[-1]]",
    source="Ba et al. 2016, equation 3; jadore801120/attention-is-all-you-need-pytorch#17",
    fails="z.mean(dim=1, keepdim=True) of [batch, time, features]",
    mend="z.mean(dim=-1, keepdim=True)",
    example="{rule: norm_dimension}",
    needs=lambda options: (BACKWARD, request_probe(NORMED)),
    watches=lambda options: (request_probe(NORMED),),
    judge=_dimensions,
)

SHORTCUT = Rule(
    name="shortcuts",
    severity="warning",
    diagnoses=True,
    looks_at="residual connections",
    says="a residual connection adds the input of a block to its output",
    computes="Follows the autograd graph from the loss. A sum of a tensor and itself in the user's "
    "code is a note, also of one that the same forward has added already, and so is a sum with "
    "the input of a block that an activation inside has "
    "changed in place. Only modules with the attribute `inplace` are known.",
    formula="y = f(x) + x, where f does not change x",
    source="rosinality/vq-vae-2-pytorch#60; He et al. 2016, equation 1",
    fails="x = self.attn(x); x = x + x",
    mend="keep the input in another variable; use activations that do not work in place",
    example="{rule: shortcuts}",
    needs=lambda options: (BACKWARD, request_probe(DOUBLED), request_probe(CHANGED)),
    watches=lambda options: (request_probe(DOUBLED), request_probe(CHANGED)),
    judge=_shortcuts,
)

ONE_VALUE = Rule(
    name="normalizes_one_value",
    severity="warning",
    diagnoses=True,
    looks_at="norms",
    says="no norm and no softmax is over one value",
    computes="Follows the autograd graph from the loss. A LayerNorm whose normalized shape has one "
    "element, and a GroupNorm whose groups have one value, return their bias for any input; a "
    "softmax over the only output of a linear layer returns 1. A GroupNorm is not judged if the "
    "batch was inferred: larger inputs may have several values.",
    formula="values in a group >= 2",
    source="pytorch#19250: torch refuses one value per channel in BatchNorm only",
    fails="nn.GroupNorm(64, 64) after nn.AdaptiveAvgPool2d(1); softmax(nn.Linear(64, 1)(x), -1)",
    mend="remove the norm, or normalize over the features; use a sigmoid for one output",
    example="{rule: normalizes_one_value}",
    needs=lambda options: (BACKWARD, request_probe(NORMS), request_probe(AXES)),
    watches=lambda options: (request_probe(NORMS), request_probe(AXES)),
    judge=_one_value,
)

LINEAR = Rule(
    name="linear_after_linear",
    severity="warning",
    diagnoses=True,
    looks_at="activations",
    says="an activation is between two linear layers",
    computes="Follows the autograd graph from the loss. An nn.Linear whose input only another "
    "nn.Linear computes is a note: the two are one linear map. So are three and more with nothing "
    "but nn.BatchNorm1d and nn.Dropout in between, in eval mode. Not judged: layers with fewer "
    "values in between than before and after, as a factorization has, frozen layers, and models "
    "without any activation. Three convolutions in a row, with kernels of several positions and "
    "without groups, are a note too. A layer of one unit with a ReLU is a warning, if it alone "
    "feeds "
    "another linear layer, and the loss sees the inputs in no other way.",
    formula="W2 (W1 x + b1) + b2 = (W2 W1) x + (W2 b1 + b2)",
    source="Goodfellow et al. 2016, chapter 6: a composition of linear functions is linear",
    fails="self.fc2(self.fc1(x)); self.fc3(self.norm2(self.fc2(self.norm1(self.fc1(x)))))",
    mend="put an activation between them, or use one linear layer",
    example="{rule: linear_after_linear}",
    needs=lambda options: (BACKWARD, request_probe(CHAINS), request_probe(NARROW)),
    watches=lambda options: (request_probe(CHAINS), request_probe(NARROW)),
    judge=_linear,
)

CHOICE = Rule(
    name="equal_choices",
    severity="warning",
    diagnoses=True,
    looks_at="the autograd graph",
    says="a gather chooses among values that differ",
    computes="Follows the autograd graph from the loss. Fails if gather or index_select choose "
    "along a dimension of one value that repeat or expand has made longer: each index gives the "
    "same value.",
    formula="x[..., i] != x[..., j] for some i, j of the dimension that an index chooses along",
    source="torch.gather; prs-eth/OverlapPredator, get_graph_feature",
    fails="x.unsqueeze(-1).repeat(1, 1, 1, n).gather(-1, neighbours)",
    mend="x.unsqueeze(2).repeat(1, 1, n, 1).gather(-1, neighbours)",
    example="{rule: equal_choices}",
    needs=lambda options: (BACKWARD, request_probe(CHOICES)),
    watches=lambda options: (request_probe(CHOICES),),
    judge=_choices,
)

SIMILARITY = Rule(
    name="self_similarity",
    severity="warning",
    diagnoses=True,
    looks_at="the loss",
    says="a contrastive loss does not compare a sample with itself",
    computes="Follows the autograd graph from the loss. If the logits of a cross_entropy are a "
    "matrix times its own transpose, scaled by numbers only, no target is on the diagonal, and the "
    "diagonal is the largest value of each row, each sample is its own strongest negative.",
    formula="not (logits = z @ z.T / t, and target[i] != i, and argmax(logits[i]) = i, for all i)",
    source="Chen et al. 2020, equation 1: the sum is over k != i; lightning-bolts#253",
    fails="F.cross_entropy(z @ z.T / 0.1, positives), without a mask of the diagonal",
    mend="mask the diagonal with -inf before the loss",
    example="{rule: self_similarity}",
    needs=lambda options: (BACKWARD, request_probe(SIMILARITIES)),
    watches=lambda options: (request_probe(SIMILARITIES),),
    judge=_similarity,
)
