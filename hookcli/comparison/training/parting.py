"""Describe where two trainings part, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.comparison.training.figure_limits import EXACT
from hookcli.comparison.training.step_pairs import StepPairs
from hookcli.comparison.training.training_diff import FigureDiff, Parting, RecordDiff, Value
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
_DIGITS = (4, 6, 9, 17)
_TINY = 1e-5  # a difference that a loss in float32 may not show
_NEAR = 0.1  # of the limit: differences that were larger before have grown to the limit


@dataclass(frozen=True, slots=True)
class SideNames:
    """What sentences call the two trainings."""

    a: str = "A"
    b: str = "B"


def parting(row: RecordDiff, steps: StepPairs, names: SideNames, *, several: bool) -> Parting:
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
        f"({how_much(figure, names)})"
    )
    sentence += _followed(row, figure)
    return Parting(
        record=row.a or "",
        figure=figure,
        layer=None if call is None else call.name,
        place=None if call is None else call.place,
        other_place=None if call is None else steps.other_place(call),
        sentence=sentence,
        meaning=_meaning(row, figure, steps),
        advice=_advice(row, figure),
    )


def subject(figure: FigureDiff) -> str:
    """Return the name of a figure in a sentence: "the gradient of fc.weight"."""
    if figure.name is None:
        return _WHOLE.get(figure.kind, figure.kind)
    if figure.kind == "event" and figure.phase == "backward":
        return f"the gradient at {figure.name}"
    return _NAMED.get(figure.kind, "{}").format(figure.name or "the model")


def how_much(figure: FigureDiff, names: SideNames) -> str:
    """Return both values and the difference: "0.41 in A and 0.57 in B, 39 % > 1 %"."""
    digits = next((d for d in _DIGITS if value(figure.a, d) != value(figure.b, d)), _DIGITS[-1])
    a, b = value(figure.a, digits), value(figure.b, digits)
    text = f"{a} in {names.a} and {b} in {names.b}"
    relative, limit = figure.relative, figure.limit
    if isinstance(relative, float) and limit is not None and limit > EXACT:
        text += f", {percent(relative)} > {percent(limit)}"
    return text


def value(item: Value, digits: int = _DIGITS[0]) -> str:
    """Return a value in a sentence."""
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, float):
        return f"{item:.{digits}g}"
    return "unknown" if item is None else str(item)


def percent(ratio: Number) -> str:
    """Return a ratio as percents: "39 %", "0.013 %"."""
    percents = float(ratio) * 100
    return f"{percents:.2g} %" if percents < 10 else f"{percents:.0f} %"  # not "1e+02 %"


def _call(figure: FigureDiff, steps: StepPairs) -> LayerRow | None:
    """Return the first call in A of the layer that a figure belongs to, or the next above it."""
    if figure.name is None:
        return None
    call = steps.ranks.call(figure.name)
    if call is not None:
        return call
    name = figure.name.partition(" (")[0].partition(":")[0]
    calls = {row.name: row for row in reversed(steps.a.report.layers)}
    while name not in calls:
        name = name[: max(name.rfind("."), name.rfind("["), 0)]  # "fc.weight", "fc[0]"
        if not name:
            return None
    return calls[name]


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
    """Return what follows from the figures that are equal, and from the first that is not."""
    start = row.first_inexact or figure
    cause = _cause(start, row, steps)
    if start is figure:
        return cause
    largest = row.largest_before  # 0 if they are rounding beside larger gradients
    size = f" of at most {percent(largest)}" if isinstance(largest, float) and largest else ""
    begin = f"smaller differences{size} begin at step {start.step:,} with {subject(start)}"
    grown = "" if start.step == figure.step or not _has_grown(row, figure) else ", and grow slowly"
    return f"{begin}{grown}" + ("" if cause is None else f"; {cause}")


def _has_grown(row: RecordDiff, figure: FigureDiff) -> bool:
    """Return whether the differences came near the limit before one was over it."""
    largest, limit, relative = row.largest_before, figure.limit, figure.relative
    if not limit or not isinstance(largest, float) or not isinstance(relative, float):
        return False
    return largest > _NEAR * limit and relative < limit / _NEAR


def _cause(start: FigureDiff, row: RecordDiff, steps: StepPairs) -> str | None:
    """Return what can make a figure differ if all figures before it are equal."""
    if start.phase == "weights":
        return (
            "the models start with different weights: the seed, the initialization or a loaded "
            "file differs"
            if start.step == 0
            else "the weights changed differently after the step before: the optimizer or code "
            "that writes weights differs"
        )
    if start.phase in {"forward", "loss"}:
        return f"all figures before are equal: {_causes_of_loss(steps, start.step)} differ"
    if start.kind == "lr":
        return "the learning rate or its schedule differs"
    seen = next(step for step in row.rows if step.step == start.step)
    tiny = isinstance(start.relative, float) and start.relative < _TINY
    if start.phase == "backward" and None not in seen.loss and not tiny:
        return "the loss is equal: the difference arises in backward, or between it and the step"
    if start.phase == "optimizer" and None not in seen.grad_norm:
        return "the gradients are equal: the optimizer or its options differ"
    return None


def _causes_of_loss(steps: StepPairs, step: int) -> str:
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
    steps = f"{figure.step - 1}-{figure.step}" if figure.step else "0"
    return f"run both scripts with `hookcli run --steps {steps}` to see the layer"


def summary_of(row: RecordDiff) -> str:
    """Return the counts of a record: steps, those in detail, figures."""
    first = f"{counted(row.compared, 'step')} compared, {len(row.sampled):,} of them in detail"
    return f"{first}: {row.different:,} of {counted(row.figures, 'figure')} differ"
