"""`causal_mask` and `position_effect`: how outputs depend on the order of positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    passed,
    run_again_failed,
    skipped,
)
from hookcli.rules.select import rows_with
from hookcli.rules.trainability.causal import ROUNDING
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import join_names

CODE, TARGETS, LATER = "causal_code", "token_targets", "later_positions"
DECODERS = "open_decoders"
TENSORS, EFFECT = "position_tensors", "position_effect"
ROTARY, TABLES = "rotary_axes", "position_tables"
_NAMED = 2


_MASK = (
    "hide each position after the query's own: `triu(ones(t, t), diagonal=1).bool()` is True where "
    "attention is not allowed"
)
_PAD = "pad convolutions over time on the left only, and hide later positions from attention"


def _value(report: Report, probe: str) -> Mapping[str, Any] | None:
    return next((m.value for m in report.measurements if m.probe == probe), None)


def _unmeasured(value: Mapping[str, Any]) -> RuleFinding | None:
    if "error" in value:
        return skipped(run_again_failed("eval", value["error"]))
    return skipped(value["why"]) if "why" in value else None


def _later(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if a model with a causal mask depends on later positions."""
    hints, value = rows_with(report, CODE, "what"), _value(report, LATER)
    decoders = rows_with(report, DECODERS, "type")
    if decoders and not hints:
        yield from (_open(row) for row in decoders if not row[1].get("only_loss"))
        return
    tells = value is not None and "why" not in value and "error" not in value
    if decoders and not tells and rows_with(report, TARGETS, "shift"):
        yield from (replace(_open(row), severity=None) for row in decoders)
        return
    if value is None or not hints:
        yield skipped("nothing tells that later positions must be hidden")
        return
    if (unmeasured := _unmeasured(value)) is not None:
        yield unmeasured
        return
    relative, time = float(value["relative"]), value["time"]
    if relative <= ROUNDING.get(value["dtype"], 0.0):
        yield passed("no output depends on later positions", value=value["relative"])
        return
    first = min((value for _, value in hints), key=lambda hint: " " in hint["what"])
    what, place = first["what"], first["place"]
    reason = what if " " in what else f"the code has a causal mask (`{what}` at {place})"
    message = (
        f"output{value['output']} at position {time} changes by {relative:.3g} of its largest "
        f"value if later positions are replaced, although {reason}"
    )
    yield RuleFinding(
        "fail", "", "later positions", message, value["relative"], 0, place or report.model.place,
        advice=_PAD if what.startswith("forward moves") else _MASK,
    )  # fmt: skip


def _open(row: tuple[str, Mapping[str, Any]]) -> RuleFinding:
    """Return the note on a decoder of tokens without a mask."""
    name, value = row
    message = (
        f"'{name}' ({value['type']}) gets no tgt_mask: each position of the target sees later ones"
    )
    return RuleFinding(
        "fail", name, "no mask", message, place=value["place"], severity="note",
        advice="pass `tgt_mask=nn.Transformer.generate_square_subsequent_mask(t)`, if the model "
        "predicts the next token",
    )  # fmt: skip


def _positions(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for rotations of other dimensions, or a note if positions have no effect."""
    rotations = rows_with(report, ROTARY, "dim")
    if rotations:
        yield _rotated(report, *rotations[0])
        return
    tables = rows_with(report, TABLES, "columns")
    if tables:
        yield from (_equal(report, *row) for row in tables)
        return
    tensors, value = rows_with(report, TENSORS, "shape"), _value(report, EFFECT)
    attentions = rows_with(report, TENSORS, "attention")
    if value is None or not (tensors or attentions):
        yield skipped("no tensor has the name of positions, and no attention is to tokens")
        return
    if (unmeasured := _unmeasured(value)) is not None:
        yield unmeasured
        return
    if not value["moves"]:
        yield passed("the order of the positions changes the outputs")
        return
    if not tensors:
        yield _without_positions(*attentions[0])
        return
    names = join_names([f"'{name}'" for name, _ in tensors], _NAMED)
    message = (
        f"{names} does not tell positions apart: with the positions of the input reversed, the "
        "outputs are the same, in reversed order"
    )
    yield RuleFinding(
        "fail", tensors[0][0], "positions", message, place=report.model.place, severity="note",
        advice="add one entry for each position, as `pe[:, :x.size(1)]` or "
        "`embedding(torch.arange(t))`",
    )  # fmt: skip


def _equal(report: Report, name: str, value: Mapping[str, Any]) -> RuleFinding:
    """Return the finding that a table of sines does not tell positions apart."""
    first, columns = value["equal"], value["columns"]
    if columns is None:
        why = f"positions {first:,} and {first + 1:,} have the same values"
        advice = "compute positions and angles in float32, and cast the result"
    else:
        why = f"only {columns:,} of its {value['shape'][-1]:,} columns differ"
        advice = "let each pair of columns have another frequency: `base ** (-arange(0, d, 2) / d)`"
    return RuleFinding(
        "fail", name, "equal positions",
        f"the table of sines '{name}' {value['shape']} does not tell positions apart: {why}",
        place=report.model.place, severity="warning", advice=advice,
    )  # fmt: skip


def _without_positions(name: str, value: Mapping[str, Any]) -> RuleFinding:
    """Return the note on an attention to tokens whose order changes nothing."""
    message = (
        f"'{name}' ({value['attention']}) attends to tokens, and nothing tells it their positions: "
        "with the tokens reversed, the outputs are the same, in reversed order"
    )
    return RuleFinding(
        "fail", name, "no positions", message, place=value["place"], severity="note",
        advice="add a vector for each position, as `embedding(torch.arange(t))`, unless the order "
        "does not matter",
    )  # fmt: skip


def _rotated(report: Report, name: str, value: Mapping[str, Any]) -> RuleFinding:
    """Return the finding that the angles of a rotary embedding differ along the wrong dimension."""
    shape, dim, along = value["shape"], value["dim"], value["positions"]
    where = f" in '{name}'" if name else ""
    message = (
        f"a rotary embedding{where} of {shape} has angles along dimension {dim}, and not along the "
        f"{shape[along]} positions in dimension {along}"
    )
    return RuleFinding(
        "fail", name, "rotation", message, dim, along, value["place"] or report.model.place,
        severity="warning",
        advice="swap heads and positions before the rotation, or pass the dimension of positions",
    )  # fmt: skip


_PROBES = (CODE, TARGETS, LATER, DECODERS)

LATER_RULE = Rule(
    name="causal_mask",
    severity="warning",
    diagnoses=True,
    looks_at="later inputs",
    says="a causal mask hides later positions",
    computes="Only if the code of a class that ran makes a triangular mask or passes "
    '`is_causal=True`, if its name contains "causal", or if the targets are the next tokens of '
    "the input: replaces the inputs after a position, as `causal` does, and compares the outputs "
    "up to it, for each input alone. It passes if one input is causal, as that of a decoder is. "
    "Not judged: models that refuse shorter inputs, and masks with both triangles. An "
    "nn.TransformerDecoder that gets the vectors of tokens and no tgt_mask is a note, if the model "
    "returns a vector for each of these tokens.",
    formula="f(x)[t] = f(x')[t] for t <= T, x'[t] = x[t] for t <= T",
    source="flashinfer#348; Vaswani et al. 2017, section 3.2.3",
    fails="torch.triu(torch.ones(t, t), diagonal=2).bool() as attn_mask",
    mend="use diagonal=1, or is_causal=True",
    example="{rule: causal_mask, severity: error}",
    needs=lambda options: (BACKWARD, *map(request_probe, _PROBES)),
    watches=lambda options: tuple(map(request_probe, _PROBES)),
    judge=_later,
)

POSITIONS_RULE = Rule(
    name="position_effect",
    severity="warning",
    diagnoses=True,
    looks_at="positions",
    says="an encoding of positions has an effect",
    computes="Only if a parameter or buffer with different rows has the name of positions, as pe "
    "or pos_embed, or if an attention of torch.nn is to the vectors of tokens and no parameter may "
    "learn positions: runs the model in eval mode with the positions of the input reversed. "
    "It is a note if all outputs are the same, or the same in reversed order, up to rounding. A "
    "rotary embedding is judged by its angles in the autograd graph: `x * cos + rotated(x) * sin`, "
    "or complex numbers of size 1. It is a warning if they differ along another dimension, such as "
    "the heads, and not along one with the length of the input. A buffer of sines, whose first row "
    "has zeros and ones, must differ between positions, and between columns.",
    formula="not (f(reverse(x)) = reverse(f(x)) or f(x))",
    source="Vaswani et al. 2017, section 3.5; DiffPoseTalk#20",
    fails="x + self.pe[:, x.shape[1], :]",
    mend="x + self.pe[:, : x.shape[1], :]",
    example="{rule: position_effect}",
    needs=lambda options: (request_probe(TENSORS), request_probe(EFFECT)),
    watches=lambda options: tuple(map(request_probe, (TENSORS, EFFECT, ROTARY, TABLES))),
    judge=_positions,
)
