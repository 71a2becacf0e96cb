"""`finite`: no NaN and no infinity; a finding reports the first place with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hookcli.catalogue.reasons import REASONS
from hookcli.report.findings import Measurement
from hookcli.report.report import LayerRow, Report
from hookcli.report.training import FirstNonFinite, TrainingReport
from hookcli.rules.first_operator import advice_for, sentence
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import called, in_record, owner, places
from hookcli.rules.training.series import first_bad
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

SEEN, FOUND = "values_read", "non_finite"
OPERATOR = "first_non_finite"  # the operator that made the first of them, or why it is not known
_AFTER_LOSS = {"gradient", "parameter_gradient", "updated"}
_OF_PARAMETERS = {
    "parameter_gradient": "the gradient of {name}{which} contains {amount}, but the gradients at "
    "the layers are finite",
    "updated": "the parameter {name} contains {amount} after the step{which}, but it and its "
    "gradient were finite before",
}
_WORDS = (("nans", "NaN"), ("infs", "Inf"), ("minus_infs", "-Inf"))


def _amount(value: dict[str, Any]) -> str:
    counts = [f"{value[key]:,} {word}" for key, word in _WORDS if value.get(key)]
    return f"{', '.join(counts)} in {counted(value['numel'], 'element')}"


def is_mask(measurement: Measurement) -> bool:
    """Return whether only -Inf occurs, in the forward pass, as in masked attention and logits.

    A buffer may also start with Inf, as a running minimum does.
    """
    value = measurement.value
    if value["at"] == "buffer":
        return not value["nans"]
    return value["at"] in {"input", "output"} and not (value["nans"] or value["infs"])


class _Judge:
    def __init__(self, report: Report, *, checked: bool) -> None:
        self.report = report
        self.checked = checked  # every value was; else only the loss and the gradients are known
        self.rows: dict[int, LayerRow] = {row.order: row for row in report.layers}
        self.places = places(report)
        self.found = [
            measurement for measurement in report.measurements if measurement.probe == FOUND
        ]

    def first(self) -> RuleFinding | None:
        """Return the first non-finite place, or the first mask if its inputs are not finite."""
        loss = self._loss()
        hard = next((measurement for measurement in self.found if not is_mask(measurement)), None)
        if hard is not None and loss is not None and self._comes_before(loss[0], hard):
            hard = None
        masks = (
            measurement
            for measurement in self.found
            if is_mask(measurement) and measurement.value["at"] == "output"
        )
        mask = next(masks, None)
        if hard is None and loss is None:
            return self._parameter()
        if mask is not None and (hard is None or self._went_in(hard)):
            return self.of(mask)
        if hard is not None:
            return self.of(hard)
        return None if loss is None else loss[1]

    def _comes_before(self, step: int, hard: Measurement) -> bool:
        """Return whether the loss of a step precedes the measurement, as it precedes gradients."""
        value = hard.value
        return bool(
            step < value.get("step", 0)
            or (step == value.get("step", 0) and value["at"] in _AFTER_LOSS)
        )

    def _went_in(self, hard: Measurement) -> bool:
        """Return whether the inputs of the call are not finite, or the place follows the loss."""
        value = hard.value
        if value["at"] in _AFTER_LOSS:
            return True
        return any(
            other.value["at"] == "input" and other.value["order"] == value["order"]
            for other in self.found
            if other is not hard
        )

    def _loss(self) -> tuple[int, RuleFinding] | None:
        """Return the first loss that is not finite, with its step."""
        for step, loss in enumerate(self.report.run.losses):
            if isinstance(loss, str):
                which = f" of step {step}" if self.report.run.steps > 1 else ""
                message = f"the loss{which} is {loss}"
                if self.checked:
                    message += ", but every value before it is finite"
                place = self.report.run.loss_place or self.report.model.place
                return step, RuleFinding("fail", "", "loss", message, loss, 0, place)
        return None

    def _parameter(self) -> RuleFinding | None:
        for row in reversed(self.report.parameters):
            if row.status == "non_finite":
                message = f"the gradient of {row.name} is not finite"
                if self.checked:
                    message += ", but the gradients at the layers are"
                place = self.places.get(owner(row.name))
                return RuleFinding("fail", row.name, "parameter_gradient", message, None, 0, place)
        return None

    def of(self, measurement: Measurement) -> RuleFinding:
        """Return the finding of one measured place."""
        value = measurement.value
        number = value["nans"] + value["infs"] + value["minus_infs"]
        target, message, place = self._describe(measurement)
        return RuleFinding("fail", target, value["at"], message, number, 0, place)

    def _describe(self, measurement: Measurement) -> tuple[str, str, str | None]:
        value, amount = measurement.value, _amount(measurement.value)
        row = self.rows.get(value["order"])
        if value["at"] in {"parameter", "buffer"}:
            message = f"the {value['at']} {measurement.target} contains {amount} before the run"
            return measurement.target, message, self.places.get(owner(measurement.target))
        if value["at"] in _OF_PARAMETERS:
            which = f" (step {value['step']})" if self.report.run.steps > 1 else ""
            message = _OF_PARAMETERS[value["at"]].format(
                name=measurement.target, amount=amount, which=which
            )
            return measurement.target, message, self.places.get(owner(measurement.target))
        kind = value["type"]
        name = called(measurement.target, kind, measurement.call)
        place = row.place if row is not None else self.places.get(measurement.target)
        if value["at"] == "gradient":
            return self._gradient(measurement, amount, place)
        where = f"{value['at']}{value['path']}"
        if value["at"] == "input":
            root = row is not None and row.parent is None
            message = f"the {where} of {name} contains {amount}: " + (
                "the batch is not finite"
                if root
                else "it was computed outside any module, and all earlier values are finite"
            )
        else:
            before = (
                "and its inputs contain -Inf"
                if self._went_in(measurement)
                else "but its inputs are finite"
            )
            inside = any(other.parent == value["order"] for other in self.report.layers)
            code = " (computed in its own code, not in a submodule)" if inside else ""
            message = f"the {where} of {name} contains {amount}, {before}{code}"
        return measurement.target, message, place

    def _gradient(
        self, measurement: Measurement, amount: str, place: str | None
    ) -> tuple[str, str, str | None]:
        """Name the only call that used the value, if there is one: its backward is the cause."""
        takers = [self.rows[order] for order in measurement.value["taken_by"] if order in self.rows]
        name = called(measurement.target, measurement.value["type"], measurement.call)
        if len(takers) == 1:
            row = takers[0]
            message = (
                f"the gradient at the input of {called(row.name, row.type, row.call)} contains "
                f"{amount}, but the gradient at its output is finite"
            )
            return row.name or "", message, row.place
        message = (
            f"the gradient at the output{measurement.value['path']} of {name} contains {amount}, "
            "but the gradients computed before it are finite"
        )
        return measurement.target, message, place


def _with_operator(
    report: Report, row: Measurement, finding: RuleFinding | None, *, checked: bool
) -> RuleFinding | None:
    """Return the finding with the operator of a second run, if that found it.

    If every value was checked, one that was created between two modules keeps the module that
    received it as its target.
    """
    value = row.value
    if "why" in value:
        return finding and replace(finding, message=f"{finding.message} ({value['why']})")
    if finding is not None and finding.kind in {"parameter", "buffer", "updated"}:
        return finding
    if value["reason"] == "buffer":
        kept = next(
            (
                m
                for m in report.measurements
                if m.probe == FOUND
                and m.value["at"] == "buffer"
                and m.target == value["facts"]["name"]
            ),
            None,
        )
        if kept is not None:
            return _Judge(report, checked=checked).of(kept)
    if finding is not None and value["reason"] == "input" and (checked or finding.kind == "input"):
        return finding
    target, kind = row.target, value["at"]
    if finding is not None:
        kind = finding.kind
        received = kind in {"input", "parameter_gradient", "loss"}
        target = finding.target if checked and (received or not target) else target
    return RuleFinding(
        "fail",
        target,
        kind,
        sentence(value, report.run.steps),
        value["nans"] + value["infs"] + value["minus_infs"],
        0,
        value["place"] or (None if finding is None else finding.place),
        advice=advice_for(value),
    )


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding, the first place: later non-finite values follow from it."""
    read = next(
        (measurement.value for measurement in report.measurements if measurement.probe == SEEN),
        None,
    )
    operator = next((m for m in report.measurements if m.probe == OPERATOR), None)
    finding = _Judge(report, checked=read is not None).first()
    if operator is not None:
        finding = _with_operator(report, operator, finding, checked=read is not None)
    if finding is not None:
        bad = None if report.training is None else first_bad(report.training)
        yield finding if bad is None else replace(finding, step=bad.step)
        return
    in_steps = report.training is not None and any(row.status for row in report.parameters)
    if read is None and not report.run.losses and not in_steps:
        yield skipped("this run did not check any values")
        return
    masks = any(measurement.probe == FOUND for measurement in report.measurements)
    aside = " (-Inf in some, as in masks)" if masks else ""
    what = "the loss or a gradient" if read is None else counted(read, "tensor")
    yield passed(f"no NaN and no Inf in {what}{aside}", value=0, limit=0)


# What was seen first, which is the value of the finding.
FIRST = {"loss": "the loss", "gradient": "the gradient"}


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first value of a training that is not finite."""
    first = report.first_non_finite
    if first is None:
        return
    target = first.layer or ""
    if len(report.records) > 1:
        target = in_record(first.record, target)
    yield RuleFinding(
        "fail", target, "first", first_sentence(first), first.what, 0, first.place,
        step=first.step, advice=_advice_about(first, report),
    )  # fmt: skip


def first_sentence(first: FirstNonFinite) -> str:
    """Return what made the first value that is not finite, where and at which step."""
    step = f"step {first.step:,}"
    at = f" at {first.place}" if first.place else ""
    layer = f"'{first.layer}'" if first.layer else "the model"
    if first.operator:
        phase = "the backward of " if first.phase == "backward" else ""
        in_loss = first.phase == "loss" or first.found_by == "source"
        where = "the loss" if in_loss else layer
        text = f"NaN or Inf first appears at {step} in {phase}{where}{at}"
        return f"{text}: {first.reason or f'`{first.operator}` returned it'}"
    reason = f": {first.reason}" if first.reason else ""
    if first.layer:
        return f"NaN or Inf first appears at {step} in {layer}{at}{reason}"
    return f"{FIRST[first.what]} is not finite at {step}{at}{reason}"


def _advice_about(first: FirstNonFinite, report: TrainingReport) -> str | None:
    """Return what to try; None for the advice of the rule, which is about an operator."""
    if first.cause in REASONS:
        return REASONS[first.cause].advice
    if first.batch is not None:
        return f"run the step again with the batch that was saved in {first.batch}"
    if first.operator is not None:
        return None
    if first.found_by == "parameters":
        return "look at the update of the step before it, or at the weights that were loaded"
    if first.found_by == "replay" and not first.layer:
        return "find these values in the data, and remove or replace them"
    tracking = report.tracking
    if first.found_by == "compiled":
        return "pass `--eager` too: without the compiler, the operator and its line are named"
    is_compiled = any(record.training and record.training.compiled for record in report.records)
    if is_compiled and tracking.compiled is None:
        return "pass `--compiled layers`, which names the layer inside compiled code, or `--eager`"
    if tracking.stop_on == "nonfinite":
        return None
    return "pass `--stop-on nonfinite` to `hookcli run`: it names the layer and saves the batch"


RULE = Rule(
    name="finite",
    early=True,
    severity="error",
    safe=True,
    looks_at="values",
    of_training=True,
    says="no input, parameter, activation, loss or gradient is NaN or infinite",
    computes="Checks every floating-point tensor during the run: the batch, parameters and "
    "buffers, the inputs and outputs of each call, the loss, the gradients of outputs and "
    "parameters, and the parameters after each step. Reports the first place, in the order of the "
    "run, where a value is not finite. In a forward, -Inf without NaN or +Inf is taken for a mask, "
    "and Inf in a buffer for an initial value: they count only if something else is not finite. "
    "If there is such a place, the step runs again from the same state and seed, and every "
    "operator is looked at: the finding names the operator that made the first of these values, "
    "its line, its inputs, and the reason if the inputs prove it. `grads` and `trace` look for it "
    "if the loss, a gradient or recorded statistics are not finite.",
    formula="count(NaN) + count(Inf) = 0",
    source="torch.autograd.detect_anomaly and smdebug's ExplodingTensor, with the place",
    fails="torch.log(x) if x contains a zero; x / x.sum() if the sum is zero",
    mend="check the call in the message: its inputs are finite. Look for a log or a root of 0, a "
    "division by 0, or a mean of no elements, as of an empty batch",
    example="{rule: finite}",
    needs=lambda options: (request_probe("values"), BACKWARD, request_probe(OPERATOR)),
    watches=lambda options: (request_probe(OPERATOR),),
    diagnoses=True,
    judge=judge,
    judge_run=judge_run,
)
