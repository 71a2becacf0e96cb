"""`loss_size`: a loss has a usual size, and predictions follow its targets."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings

_SIZE = "loss_size"
_KINDS = ("dying_units", "constant_prediction", "majority_class", "input_scale", "first_loss",
          "other_scale", "constant_column", "missing_class")  # fmt: skip
_NOTES = (
    "input_scale",
    "first_loss",
    "constant_column",
    "missing_class",
)  # a model may train all the same
_PASSES = 4  # backward passes for each step
_STEPS = 3
_LARGE = 50.0  # of inputs and targets


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for predictions that are one value, and for gradients that are added."""
    found = False
    for fact in facts_of(report, *_KINDS):
        found = True
        message, advice = _SENTENCES[fact.kind](fact)
        yield RuleFinding(
            "fail", target_of(fact), fact.kind, message, fact.count, 0, fact.place,
            "note" if fact.kind in _NOTES else None, advice=advice, step=fact.step,
        )  # fmt: skip
    for fact in facts_of(report, _SIZE):
        many = passes_of_steps(report, fact)
        if many is not None:
            found = True
            yield RuleFinding(
                "fail", target_of(fact), "accumulated", accumulated(many), many, 1, fact.place,
                "note", advice=f"divide the loss by {many} before backward, unless the learning "
                "rate is made for the sum",
            )  # fmt: skip
    if not found:
        yield without_findings(
            report, (_SIZE,), "predictions follow the targets of the loss",
            "no backward pass was looked at",
        )  # fmt: skip


def passes_of_steps(report: TrainingReport, fact: ScriptFact) -> int | None:
    """Return how many backward passes of a line each step adds up; None if it averages them."""
    if fact.values["scaled"] or fact.values.get("erased") or fact.record is None:
        return None
    for record in report.records:
        training = record.training
        if training is not None and training.record == fact.record:
            counts = {row.backwards for row in training.steps[:-1] if not row.skipped}
            many = counts.pop() if len(counts) == 1 else 0
            lines = [one for one in facts_of(report, _SIZE) if one.record == fact.record]
            if many >= _PASSES and len(training.steps) >= _STEPS and len(lines) == 1:
                return many
    return None


def accumulated(many: int) -> str:
    """Return what is said of gradients that are added."""
    return (
        f"each step adds the gradients of {many} backward passes, and the loss is not divided by "
        f"{many}: it is {many} times that of one batch"
    )


def reason_of_size(report: TrainingReport, record: str) -> tuple[str, str] | None:
    """Return what makes the loss of a record large, and what to do; None if nothing is known."""
    for fact in facts_of(report, _SIZE):
        if fact.record != record:
            continue
        values = fact.values
        if values["elements"] is not None and values["elements"] >= 100:
            return (
                f"the loss is a sum over {values['elements']:,} elements, not their mean",
                "use the mean, such as reduction='mean', or divide the loss by the number",
            )
        many = passes_of_steps(report, fact)
        if many is not None:
            return accumulated(many), f"divide the loss by {many} before backward"
        for name, low, high in _ranges(fact):
            if max(abs(low), abs(high)) >= _LARGE:
                return (
                    f"the {name} are large, from {low:.4g} to {high:.4g}, as without normalization",
                    f"scale the {name} to a mean of 0 and a standard deviation of 1",
                )
    return None


def _ranges(fact: ScriptFact) -> Iterator[tuple[str, float, float]]:
    inputs, targets = fact.values["inputs"], fact.values["targets"]
    if targets:
        yield "targets", targets["low"], targets["high"]
    if inputs:
        yield "inputs", *inputs


def _constant(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"the predictions have become one constant: they differ by {values['own']:.2g} at backward "
        f"pass {fact.step:,}; the targets of {values['loss']} have a large offset, "
        f"{values['mean']:.4g}, next to a standard deviation of {values['spread']:.3g}",
        "normalize the targets: subtract their mean, and divide by their standard deviation",
    )


def _majority(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"the model predicts class {values['label']} for all samples: {values['share']:.1%} of the "
        "labels are of that class, and the others are too rare for a loss without weights",
        "pass class weights to the loss, draw rare classes more often, or use a focal or Dice loss",
    )


def _dying(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"{values['dead']:,} of {values['units']:,} units of the ReLU behind '{fact.target}' are "
        f"dead at backward pass {fact.step:,} and later, zero for all samples, and only "
        f"{values['first']:,} at the first one: steps have pushed them below 0",
        "use a smaller learning rate, or an activation that is not 0 below 0, such as LeakyReLU",
    )


def _scale(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    what = "tiny" if values["size"] < 1 else "not normalized"
    message = (
        f"the inputs of '{fact.target}' are {what}: they are from {values['low']:.4g} to "
        f"{values['high']:.4g}, with a mean of {values['mean']:.3g} and a standard deviation of "
        f"{values['std']:.3g}"
    )
    if "loss" in values:
        message += f"; the first loss is {values['loss']:.4g}, and that of a guess {_guess(fact)}"
    return message, "subtract the mean of the inputs, and divide them by their standard deviation"


def _first(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    message = f"the first loss is {values['loss']:.4g}, and that of a guess {_guess(fact)}"
    if values["weight"]:
        times = values["std"] / values["usual"]
        return (
            f"{message}: '{values['weight']}' begins with a standard deviation of "
            f"{values['std']:.3g}, {times:.3g} times that of torch's initialization",
            f"initialize '{values['weight']}' with smaller values",
        )
    if values.get("factors"):
        one, two = values["factors"]
        width = math.sqrt(values["terms"])
        return (
            f"{message}: the logits are products of '{one}' and '{two}', {values['terms']:,} "
            f"values with standard deviations of {values['stds'][0]:.3g} and "
            f"{values['stds'][1]:.3g}, and so have one of {values['spread']:.3g}",
            f"initialize them with a standard deviation of {1 / math.sqrt(width):.2g} or less, or "
            f"divide the product by {width:.3g}",
        )
    return (
        f"{message}: the logits are large before the first step",
        "check the initialization, what scales the logits, and whether labels fit the model",
    )


def _other(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    low, high = values["usual"]
    where = "evaluations" if values["is_all"] else "some evaluations"
    return (
        f"the inputs of '{fact.target}' are not scaled in {where} as in training: they are from "
        f"{values['low']:.4g} to {values['high']:.4g} there, and in training from {low:.4g} to "
        f"{high:.4g}",
        "scale the inputs of an evaluation as those of the training",
    )


def _column(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    more = f", and {values['columns'] - 1:,} more" if values["columns"] > 1 else ""
    return (
        f"column {values['column']}{more} of the inputs of '{fact.target}' is constant: it has the "
        f"value {values['value']:.4g} in all {values['samples']:,} samples that were looked at",
        "check how the column is computed: it should differ between samples",
    )


def _missing(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    others = values["missing"] - 1
    who = f" and {others:,} more have" if others else " has"
    low, high = values["seen"]
    return (
        f"class {values['class']}{who} no label: cross_entropy has {values['classes']:,} classes, "
        f"and the {values['labels']:,} labels that were looked at are from {low} to {high}",
        "shuffle before the data is split, and check whether labels begin with 0",
    )


def _guess(fact: ScriptFact) -> str:
    return f"ln({fact.values['classes']:,}) = {fact.values['guess']:.4g}"


_SENTENCES = {
    "input_scale": _scale,
    "first_loss": _first,
    "other_scale": _other,
    "constant_column": _column,
    "missing_class": _missing,
    "constant_prediction": _constant,
    "majority_class": _majority,
    "dying_units": _dying,
}

RULE = Rule(
    name="loss_size",
    severity="warning",
    of_training=True,
    looks_at="the loss",
    says="a loss has a usual size, and its predictions do not become one value",
    computes="Looks at the graph of the loss, in the first three backward passes of each line and "
    "in one of ten, of a hundred and so on. Fails if the predictions of a regression differ by "
    "less than a twentieth of the targets, whose mean is twenty times as large as their standard "
    "deviation; if at least 85 % of the labels of cross_entropy are one class, and it is the "
    "prediction for all samples; or if at least 95 % of the units of a ReLU are zero for the whole "
    "batch, and at most half were at first: in the last two looks each. That a step adds the "
    "gradients of four or more backward passes, and the loss is not divided, is a note. What makes "
    "a loss large, as a sum over many elements, is told with the findings that follow from it. "
    "Before the first step, inputs of the first layer with a root mean square above 20 or below "
    "0.01 are a note, and so is a cross entropy six times as large as that of a guess, of binary "
    "logits three times. "
    "A column of the inputs that has one value, not 0 or 1, in all samples is a note, and so "
    "is a class of cross_entropy that no label of many has. Fails if the "
    "inputs in evaluations are 20 times as large or small as those in training.",
    formula="std(predictions) >= 0.05 std(targets); argmax(logits) != majority; ReLU(x) != 0",
    source="PyTorch's reduction='mean'; He and Garcia 2009, Learning from Imbalanced Data; "
    "Lu et al. 2020, Dying ReLU and Initialization",
    fails="targets around -2700 for a network that starts at 0; 1 % of pixels in a class; "
    "Adam(lr=0.1)",
    mend="normalize the targets; weigh rare classes; use a smaller learning rate",
    example="{rule: loss_size, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
