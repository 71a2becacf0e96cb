"""Positions along the batch, last steps of padding, and outputs that depend on padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.report import LayerRow, Report
from hookcli.rules.patterns.user_code import UNREAD_CODE
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    passed,
    run_again_failed,
    skipped,
)
from hookcli.rules.select import rows_with
from hookcli.spec.checks import request_probe

POSITIONS, STEPS = "batch_positions", "last_steps"
PADDED, EFFECT = "padded_inputs", "padding_effect"
_ROUNDED = 1e-3  # relative: sums over other numbers of values


def _shape(row: LayerRow) -> tuple[int, ...] | None:
    """Return the shape of the first input of a call; None if it has no three known sizes."""
    for leaf in row.inputs:
        if leaf.shape is not None:
            known = tuple(size for size in leaf.shape if isinstance(size, int))
            return known if len(known) == len(leaf.shape) == 3 else None
    return None


def _positions(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each module that takes its positions along the batch."""
    rows, found = rows_with(report, POSITIONS, "attribute"), False
    shapes = {row.name: _shape(row) for row in reversed(report.layers)}
    for name, value in rows:
        shape = shapes.get(name)
        if shape is None or shape[0] == shape[1]:
            continue
        batched = [one for one in value["batch_first"] if (shapes.get(one) or ())[:2] == shape[:2]]
        if not batched:
            continue
        found = True
        attribute = f"{name}.{value['attribute']}" if name else value["attribute"]
        message = (
            f"the positions '{attribute}' are taken along dimension 0 of {[*shape]}, the batch, as "
            f"'{batched[0]}' reads it: all positions of a sample get the same values"
        )
        yield RuleFinding(
            "fail", name, "batch", message, 0, 1, value["place"],
            advice=f"add `self.{value['attribute']}[: x.size(1)].transpose(0, 1)`, of the "
            "positions in dimension 1",
        )  # fmt: skip
    if not found:
        yield passed("no positions are taken along the batch")


def _steps(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each recurrent layer of which the last step is that of padding."""
    rows = rows_with(report, STEPS, "layer")
    for name, value in rows:
        layer = f"{name}.{value['layer']}" if name else value["layer"]
        message = (
            f"the last step of '{layer}' is read for all samples, and {value['padded']:,} of "
            f"{value['samples']:,} end with padding ({value['what']})"
        )
        yield RuleFinding(
            "fail", layer, "padding", message, value["share"], 0, value["place"],
            advice="pass the lengths with `pack_padded_sequence`, or gather the step at "
            "`lengths - 1` of each sample",
        )  # fmt: skip
    if not rows:
        looked = any(one.probe == STEPS for one in report.measurements)
        message = "no last step of a recurrent layer is that of padding"
        yield passed(message) if looked else skipped(UNREAD_CODE)


def _padding(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if more padding changes outputs, unless a last step is known to be it."""
    value: Any = next((m.value for m in report.measurements if m.probe == EFFECT), None)
    if value is None:
        yield skipped("no input ends with padding")
        return
    if "error" in value:
        yield skipped(run_again_failed("eval", value["error"]))
        return
    if "why" in value:
        yield skipped(value["why"])
        return
    relative = float(value["relative"])
    if relative <= _ROUNDED:
        yield passed("the amount of padding changes no output", value=relative, limit=_ROUNDED)
        return
    if rows_with(report, STEPS, "layer"):
        yield skipped("a last step of padding is read")
        return
    message = (
        f"output{value['output']} depends on how much padding follows a sample: it changes by "
        f"{relative:.3g} of its largest value with {value['more']} more positions of padding "
        f"({value['what']})"
    )
    yield RuleFinding(
        "fail", "", "padding counts", message, value["relative"], _ROUNDED, report.model.place,
        severity=None if value["masked"] else "note",
        advice="leave padding out of averages, maxima and attention: multiply by the mask and "
        "divide by its sum, fill with -inf, or pass `key_padding_mask`",
    )  # fmt: skip


BATCH_POSITIONS = Rule(
    name="batch_positions",
    severity="warning",
    diagnoses=True,
    looks_at="positions",
    says="positions are added along the sequence, not along the batch",
    computes="Reads the source of the classes whose modules ran, if it is in files of the user. "
    "Fails if forward cuts a tensor of shape [length, 1, features] to the size of dimension 0 of "
    "its input, and a layer with batch_first=True gets an input of the same first two sizes.",
    formula="x[b, t] + pe[t], not x[b, t] + pe[b]",
    source="tanjimin/C.Origami#42; the tutorial of PyTorch, whose batch is in dimension 1",
    fails="x + self.pe[: x.size(0)], in front of layers with batch_first=True",
    mend="x + self.pe[: x.size(1)].transpose(0, 1)",
    example="{rule: batch_positions, severity: error}",
    watches=lambda options: (request_probe(POSITIONS),),
    judge=_positions,
)

PADDED_STEPS = Rule(
    name="padded_steps",
    severity="warning",
    diagnoses=True,
    looks_at="sequences",
    says="the last step of a recurrent layer is that of a sample, not of its padding",
    computes="Reads the source of the classes whose modules ran, if it is in files of the user. "
    "Fails if a method reads the last position of the outputs of an RNN, LSTM or GRU, none packs "
    "sequences, and at least half of the samples of the batch end with zeros, or with the same "
    "token twice, at several positions: a tenth of all positions or more. What is elsewhere in a "
    "sample too is no padding.",
    formula="outputs[i, length[i] - 1], not outputs[i, -1]",
    source="ray-project/ray#21392; torch.nn.utils.rnn.pack_padded_sequence",
    fails="features, state = self.lstm(x); return features[:, -1]",
    mend="features[torch.arange(len(x)), lengths - 1]",
    example="{rule: padded_steps, severity: error}",
    watches=lambda options: (request_probe(STEPS),),
    judge=_steps,
)

PADDING_EFFECT = Rule(
    name="padding_effect",
    severity="warning",
    diagnoses=True,
    looks_at="sequences",
    says="the outputs of a sample do not depend on how much padding follows it",
    computes="Only if most samples of the batch end with zeros or with one token: runs the model "
    "in eval mode with two more positions of padding for each sample, and compares the outputs. "
    "Masks, labels and other inputs get what they have at positions of padding. Outputs at these "
    "positions do not count. A finding is a note if the model gets no mask and no lengths.",
    formula="f([x, padding]) = f([x, padding, padding])",
    source="documentation of nn.MultiheadAttention (key_padding_mask) and pack_padded_sequence",
    fails="x.mean(dim=1) of padded samples; an attention without key_padding_mask",
    mend="(x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)",
    example="{rule: padding_effect, severity: error}",
    watches=lambda options: (request_probe(PADDED), request_probe(EFFECT)),
    judge=_padding,
)
