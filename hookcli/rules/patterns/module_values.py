"""Settings and states of modules that are seldom meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from hookcli.report.report import LayerRow, Report
from hookcli.rules.rule import FAKE, NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import owner, places, rows_with
from hookcli.rules.trainability.batch_norm_single import BATCH_NORM
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import join_names

NORMS, MASKS, UNITS = "batch_norms", "trained_masks", "equal_units"
DROPOUT, POOLED = "high_dropout", "pooled_padding"
FROZEN, PADDING, INVERTED = "frozen_norms", "padding_vectors", "inverted_masks"
UNSEEN = "the modules were not looked at"
_NAMED = 2
_DROPPED = 0.8  # the limit of the probe


def _passed(report: Report, probe: str, message: str) -> RuleFinding:
    if report.run.tensors == "fake":
        return skipped(FAKE)
    looked = any(m.probe == probe for m in report.measurements)
    return passed(message) if looked else skipped(UNSEEN)


def _statistics(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the batch norms with each setting."""
    groups: dict[float | None, list[tuple[str, str | None]]] = {}
    for name, value in rows_with(report, NORMS, "momentum"):
        groups.setdefault(value["momentum"], []).append((name, value["place"]))
    for momentum, rows in groups.items():
        names = join_names([f"'{name}'" for name, _ in rows], _NAMED)
        target, place = rows[0]
        if momentum is None:
            message = (
                f"{names} ran in eval mode with the statistics of a new module, mean 0 and "
                "variance 1, although the model is in train mode"
            )
            yield RuleFinding(
                "fail", target, "new statistics", message, len(rows), 0, place, severity="note",
                advice="load trained statistics, or do not call `eval()` on it",
            )  # fmt: skip
            continue
        if momentum == 0:
            message = (
                f"the momentum of {names} is 0: the running statistics, with which the model is "
                "evaluated, stay mean 0 and variance 1"
            )
            yield RuleFinding(
                "fail", target, "no momentum", message, 0, 0, place,
                advice="use a small momentum, as the default of 0.1",
            )  # fmt: skip
            continue
        message = (
            f"the momentum of {names} is {momentum:g}: each batch has {momentum:.1%} of the "
            "running statistics, with which the model is evaluated"
        )
        yield RuleFinding(
            "fail", target, "momentum", message, momentum, 0.9, place,
            advice="use a small momentum, as the default of 0.1: it is 1 minus that of TensorFlow",
        )  # fmt: skip
    frozen = rows_with(report, FROZEN, "frozen")
    if frozen:
        yield _thawed(frozen)
    pairs = [] if report.training is None else _of_two_values(report.layers)
    if pairs:
        names = join_names([f"'{row.name}'" for row in pairs], _NAMED)
        message = (
            f"{names} {'normalizes' if len(pairs) == 1 else 'normalize'} two values per channel: "
            "the result is 1 and -1, whatever they are"
        )
        yield RuleFinding(
            "fail", pairs[0].name or "", "two values", message, 2, 3, pairs[0].place,
            advice="use a larger batch, drop_last=True for the last one, GroupNorm or LayerNorm",
        )  # fmt: skip
    if not groups and not frozen and not pairs:
        yield _passed(report, NORMS, "the running statistics of all batch norms are averages")


def _of_two_values(rows: Sequence[LayerRow]) -> list[LayerRow]:
    """Return the batch norms that got two values per channel in train mode at each call."""
    counts: dict[str | None, set[int]] = {}
    first: dict[str | None, LayerRow] = {}
    for row in rows:
        shape = row.inputs[0].shape if row.inputs else ()
        if row.type in BATCH_NORM and row.training and len(shape) > 1 and None not in shape:
            sizes = [size or 0 for size in shape]
            counts.setdefault(row.name, set()).add(sizes[0] * prod(sizes[2:]))
            first.setdefault(row.name, row)
    return [first[name] for name, found in counts.items() if found == {2}]


def _dropout(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note on the dropout layers that drop most values."""
    found = rows_with(report, DROPOUT, "p")
    for p in sorted({value["p"] for _, value in found}):
        rows = [(name, value) for name, value in found if value["p"] == p]
        names = join_names([f"'{name}'" for name, _ in rows], _NAMED)
        message = (
            f"{names} {'drops' if len(rows) == 1 else 'drop'} {p:.0%} of the values: p is the "
            "probability of dropping a value, not of keeping it"
        )
        yield RuleFinding(
            "fail", rows[0][0], f"dropout {p:g}", message, p, _DROPPED, rows[0][1]["place"],
            severity="note", advice=f"pass p={1 - p:.2g}, if {p:g} was meant to be kept",
        )  # fmt: skip
    if not found:
        yield _passed(report, DROPOUT, "no dropout layer drops most of the values")


def _thawed(rows: list[tuple[str, Mapping[str, Any]]]) -> RuleFinding:
    """Return the note on batch norms that are meant to be frozen, and are in train mode."""
    names = join_names([f"'{name}'" for name, _ in rows], _NAMED)
    target, value = rows[0]
    if value["eval"]:
        message = (
            f"{names} was put in eval mode, and `train()` puts it back in train mode: its running "
            "statistics change in training"
        )
        advice = "override `train` of the model, and call `eval()` on it there"
    else:
        message = (
            f"{names} is in train mode, but its weights are frozen: its running statistics change "
            "in training"
        )
        advice = "call `eval()` on it after each `train()`, if its statistics must stay, too"
    return RuleFinding(
        "fail", target, "frozen", message, len(rows), 0, value["place"], severity="note",
        advice=advice,
    )  # fmt: skip


def _padding(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield findings for masks that hide all but padding, and for vectors of padding."""
    inverted, vectors = rows_with(report, INVERTED, "argument"), rows_with(report, PADDING, "token")
    for name, value in inverted:
        argument, where = value["argument"], f"'{name}'" if name else "the model"
        attended = argument == "attn_mask"  # of the function, where True is not hidden
        message = (
            f"{argument} of {where} is inverted: it hides every token but padding, since True "
            f"marks what is {'attended to' if attended else 'hidden'}"
        )
        yield RuleFinding(
            "fail", name, "inverted", message, place=value["place"],
            advice="pass `ids != padding_idx`, which is False at padding" if attended else
            "pass `ids == padding_idx`, which is True at padding",
        )  # fmt: skip
    for name, value in vectors:
        message = (
            f"the vector of padding_idx={value['token']} of '{name}' is not zero, as an "
            "initialization has overwritten it; it gets no gradient"
        )
        yield RuleFinding(
            "fail", name, "padding", message, place=value["place"], severity="note",
            advice="set it to zero after the initialization: `weight[padding_idx] = 0`",
        )  # fmt: skip
    pooled = rows_with(report, POOLED, "share")
    for name, value in pooled:
        where = f" in '{name}'" if name else ""
        message = f"a mean{where} counts the vectors of padding: {value['share']:.0%} of "
        message += (
            "the positions, by a mask that the model gets"
            if value["token"] is None
            else f"the tokens are padding_idx={value['token']}"
        )
        yield RuleFinding(
            "fail", name, "pooled", message, value["share"], 0,
            value["place"] or report.model.place, severity="note",
            advice="divide the sum by the number of tokens that are not padding",
        )  # fmt: skip
    if not inverted and not vectors and not pooled:
        yield _passed(report, PADDING, "padding has a vector of zeros, and masks hide it")


def _masks(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each parameter with the values of a mask."""
    found = rows_with(report, MASKS, "shape")
    where = places(report) if found else {}
    for name, value in found:
        message = (
            f"'{name}' {value['shape']} has the values of an additive mask, 0 and below -10,000, "
            "but is a parameter: training changes its zeros"
        )
        yield RuleFinding(
            "fail", name, "mask", message, place=where.get(owner(name), report.model.place),
            advice="use `register_buffer` for it, or `requires_grad=False`",
        )  # fmt: skip
    if not found:
        yield _passed(report, MASKS, "no trained parameter has the values of a mask")


def _units(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the layers whose units cannot become different."""
    if report.run.loss is None and report.training is None:
        yield skipped(NO_BACKWARD)
        return
    found = rows_with(report, UNITS, "units")
    where = places(report) if found else {}
    for name, value in found:
        message = (
            f"all {value['units']:,} units of '{name}' have equal weights and got equal gradients, "
            "so that they stay equal: the layer works as one unit"
        )
        yield RuleFinding(
            "fail", name, "equal", message, value["units"], 1,
            where.get(name) or where.get(owner(name)),
            advice="initialize the weights with random numbers, as in `nn.init.kaiming_normal_`",
        )  # fmt: skip
    if not found:
        yield _passed(report, UNITS, "the units of each layer differ")


STATISTICS = Rule(
    name="batch_norm_statistics",
    severity="warning",
    diagnoses=True,
    looks_at="norms",
    says="running statistics of batch norms are averages over batches",
    computes="Reads the momentum of each batch norm that ran in train mode: 0.9 and more is a "
    "finding, and so is 0 with a mean of 0 and a variance of 1, which then never change; None is "
    "the average over all batches. A batch norm that ran in eval mode inside of a "
    "model in train mode, with a mean of 0, a variance of 1 and no batch counted, is a note: "
    "trained statistics may be loaded later. In a training, a batch norm that gets two values per "
    "channel at each call fails.",
    formula="0 < momentum < 0.9; not (eval mode and num_batches_tracked = 0)",
    source="torch.nn.BatchNorm2d: its momentum is the share of the new batch",
    fails="nn.BatchNorm2d(64, momentum=0.99), as in Keras; self.bn.eval() in forward",
    mend="use the default momentum of 0.1",
    example="{rule: batch_norm_statistics}",
    watches=lambda options: (request_probe(NORMS), request_probe(FROZEN)),
    judge=_statistics,
)

PADDING_RULE = Rule(
    name="padding_tokens",
    severity="warning",
    diagnoses=True,
    looks_at="padding",
    says="padding has a vector of zeros, and masks hide padding only",
    computes="Looks at embeddings with a padding_idx whose input has padding. A key_padding_mask "
    "of an attention that is True exactly where there is no padding is a finding, and so is an "
    "attn_mask of scaled_dot_product_attention that hides exactly these tokens. A vector of "
    "padding that is not zero is a note: it may be loaded, and later layers may hide it. So is a "
    "mean over the tokens of a row that counts padding, or over positions of which an input of "
    "the model tells that they are padding: zeros and ones, each row in two runs.",
    formula="weight[padding_idx] = 0; key_padding_mask != (ids != padding_idx); attn_mask != "
    "(ids == padding_idx)",
    source="torch.nn.Embedding: the vector at padding_idx is zeros, and gets no gradient; "
    "torch.nn.MultiheadAttention: True is ignored",
    fails="nn.init.normal_(embedding.weight); src_key_padding_mask=(ids != 0)",
    mend="with torch.no_grad(): embedding.weight[padding_idx] = 0",
    example="{rule: padding_tokens}",
    watches=lambda options: tuple(map(request_probe, (PADDING, INVERTED, POOLED))),
    judge=_padding,
)

MASK = Rule(
    name="trained_mask",
    severity="warning",
    diagnoses=True,
    looks_at="masks",
    says="no additive mask is a trained parameter",
    computes="Looks for square parameters with zeros whose other values are all -10,000 or below. "
    "A softmax gives such scores no weight. The zeros get gradients, and training changes them.",
    formula="not (every value = 0 or <= -1e4, and both occur, and requires_grad)",
    source="torch.nn.Module.register_buffer: for tensors that are not parameters",
    fails="self.mask = nn.Parameter(torch.full((n, n), -1e9).triu(1))",
    mend="use register_buffer, or requires_grad=False",
    example="{rule: trained_mask}",
    watches=lambda options: (request_probe(MASKS),),
    judge=_masks,
)

EQUAL = Rule(
    name="equal_units",
    severity="warning",
    diagnoses=True,
    looks_at="weights",
    says="the units of a layer differ in their weights or in their gradients",
    computes="Compares the rows of the weights of linear layers and convolutions, and the rows of "
    "their gradients. If all are equal, and the gradient is not zero, each step changes all units "
    "alike. Units that dropout or the next layer tells apart have different gradients.",
    formula="not (weight[i] = weight[j] and grad[i] = grad[j] != 0, for all i and j)",
    source="Goodfellow et al. 2016, section 8.4: initial parameters need to break symmetry",
    fails="nn.init.constant_(layer.weight, 0.1) for each layer",
    mend="initialize the weights with random numbers",
    example="{rule: equal_units}",
    needs=lambda options: (BACKWARD, request_probe(UNITS)),
    watches=lambda options: (request_probe(UNITS),),
    judge=_units,
)

HIGH_DROPOUT = Rule(
    name="high_dropout",
    severity="warning",
    diagnoses=True,
    looks_at="dropout",
    says="no dropout layer drops most of the values",
    computes="Reads the probability of each dropout layer that ran in train mode. From 0.8 on, and "
    "below 1, it is a note: some models are made for it.",
    formula="p < 0.8",
    source="torch.nn.Dropout: p is the probability of an element to be zeroed; Srivastava et al. "
    "2014 call the probability to keep it p",
    fails="nn.Dropout(0.9), where 0.9 was to be kept",
    mend="nn.Dropout(0.1)",
    example="{rule: high_dropout}",
    watches=lambda options: (request_probe(DROPOUT),),
    judge=_dropout,
)
