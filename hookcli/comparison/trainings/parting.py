"""Describe where two trainings part, in sentences."""

from __future__ import annotations

from hookcli.comparison.trainings.step_pairs import StepPairs
from hookcli.comparison.trainings.training_diff import FigureDiff, Parting, RecordDiff, Value
from hookcli.report.report import LayerRow
from hookcli.report.values import Number
from hookcli.text import counted

_WHOLE = {
    "weight_norm": "the norm of the weights",
    "forwards": "the number of forwards",
    "loss": "the loss",
    "backwards": "the number of backwards",
    "grad_norm": "the norm of all gradients",
    "scale": "the scale of the loss",
    "skipped": "whether the optimizer skipped the step",
    "lr": "the learning rate",
    "update_norm": "the norm of the update",
}
_NAMED = {
    "weight": "the weight {}",
    "shape": "the shape of {}",
    "output": "the norm of {}",
    "event": "the value at {}",
    "output_gradient": "the gradient of the output of {}",
    "gradient": "the gradient of {}",
    "update_ratio": "the update of {}",
}
_LEAD = 0.1  # of the limit: a difference that was larger one step before has grown to the limit


def parting(row: RecordDiff, steps: StepPairs, *, several: bool) -> Parting:
    """Return the first difference of a record. `several`: the sentence names the record.

    Raises
    ------
    ValueError : nothing differs.
    """
    figure = row.first
    if figure is None:
        raise ValueError("the records do not differ")
    call = _call(figure, steps)
    whose = f" of {row.a}" if several else ""
    sentence = (
        f"the trainings part at step {figure.step:,}{whose}: {subject(figure)} differs first "
        f"({how_much(figure)})"
    )
    sentence += _followed(row, figure)
    return Parting(
        record=row.a or "",
        figure=figure,
        layer=None if call is None else call.name,
        place=None if call is None else call.place,
        sentence=sentence,
        meaning=_meaning(row, figure, steps),
        advice=_advice(row, figure),
    )


def subject(figure: FigureDiff) -> str:
    """Return the name of a figure in a sentence: "the gradient of fc.weight"."""
    if figure.name is None:
        return _WHOLE.get(figure.kind, figure.kind)
    return _NAMED.get(figure.kind, "{}").format(figure.name or "the model")


def how_much(figure: FigureDiff) -> str:
    """Return both values and the difference: "0.41 in A and 0.57 in B, 39 % > 1 %"."""
    text = f"{value(figure.a)} in A and {value(figure.b)} in B"
    relative, limit = figure.relative, figure.limit
    if isinstance(relative, float) and limit:
        text += f", {percent(relative)} > {percent(limit)}"
    return text


def value(item: Value) -> str:
    """Return a value in a sentence, with the digits that tell figures apart."""
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, float):
        return f"{item:.4g}"
    return "unknown" if item is None else str(item)


def percent(ratio: Number) -> str:
    """Return a ratio as percents: "39 %", "0.013 %"."""
    return f"{float(ratio) * 100:.2g} %" if float(ratio) < 1 else f"{float(ratio) * 100:.0f} %"


def _call(figure: FigureDiff, steps: StepPairs) -> LayerRow | None:
    """Return the call in A of the layer that a figure belongs to."""
    if figure.name is None:
        return None
    call = steps.ranks.call(figure.name)
    if call is not None:
        return call
    name = figure.name.partition(" (")[0].partition(":")[0]
    rows = (row for row in steps.a.report.layers if row.name == name)
    return next(rows, None)


def _followed(row: RecordDiff, figure: FigureDiff) -> str:
    """Return what follows: the loss, or after it the gradients."""
    kinds = {follow.kind: follow for follow in row.follows}
    if figure.kind != "loss":
        loss = kinds.get("loss")
        if loss is None:
            known = any(None not in step.loss for step in row.rows if step.step >= figure.step)
            return "; the loss does not follow" if known else ""
        return f"; the loss follows at {_when(loss, figure)}"
    gradient = kinds.get("gradient")
    if gradient is None:
        return ""
    return f"; {subject(gradient)} is the first to follow, at {_when(gradient, figure)}"


def _when(follow: FigureDiff, figure: FigureDiff) -> str:
    return "the same step" if follow.step == figure.step else f"step {follow.step:,}"


def _meaning(row: RecordDiff, figure: FigureDiff, steps: StepPairs) -> str | None:
    before = row.first_inexact
    if before is not None and before.step < figure.step and before is not figure:
        largest = row.largest_before
        size = "" if largest is None else f" of at most {percent(largest)}"
        small = f"smaller differences{size} begin at step {before.step:,} with {subject(before)}"
        limit = figure.limit
        if isinstance(figure.relative, float) and limit and isinstance(largest, float):
            grown = largest > _LEAD * limit and figure.relative < limit / _LEAD
            return f"{small}, and grow from step to step" if grown else small
        return small
    if figure.phase == "weights":
        return (
            "the models start with different weights: the seed, the initialization or a loaded "
            "file differs"
            if figure.step == 0
            else "the weights changed differently after the step before: the optimizer or code "
            "that writes weights differs"
        )
    if figure.phase in {"forward", "loss"}:
        return f"all figures before are equal: {_cause_of_loss(steps, figure.step)} differ"
    if figure.kind == "lr":
        return "the learning rate or its schedule differs"
    seen = next(step for step in row.rows if step.step == figure.step)
    if figure.phase == "backward" and None not in seen.loss:
        return "the loss is equal: the difference arises in backward, or between it and the step"
    if figure.phase == "optimizer" and None not in seen.grad_norm:
        return "the gradients are equal: the optimizer or its options differ"
    return None


def _cause_of_loss(steps: StepPairs, step: int) -> str:
    """Return what can make a forward differ, if nothing before it does."""
    rows = steps.a.steps[step], steps.b.steps[step]
    if all(row.weight_norm is not None for row in rows):
        return "the batch, random numbers or the forward"
    weights = "the weights" if step == 0 else "the last update"
    return f"{weights}, the batch, random numbers or the forward"


def _advice(row: RecordDiff, figure: FigureDiff) -> str | None:
    """Return how to see the layer, if the step was not observed in detail."""
    if figure.step in row.sampled or figure.phase == "optimizer":
        return None
    first = max(figure.step - 1, 0)
    return f"run both scripts with `hookcli run --steps {first}-{figure.step}` to see the layer"


def summary_of(row: RecordDiff) -> str:
    """Return the counts of a record: steps, those in detail, figures."""
    first = f"{counted(row.compared, 'step')} compared, {len(row.sampled):,} of them in detail"
    return f"{first}: {row.different:,} of {counted(row.figures, 'figure')} differ"
