"""`finite`: no NaN and no infinity, and the first place where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.report import LayerRow, Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import called, owner, places
from hookcli.text import counted

SEEN, FOUND = "values_read", "non_finite"
_AFTER_LOSS = {"gradient", "parameter_gradient", "updated"}
_OF_PARAMETERS = {
    "parameter_gradient": "the gradient of {name}{which} holds {amount}; those at the layers were "
    "finite",
    "updated": "the parameter {name} holds {amount} after the step{which}; it was finite before, "
    "and so was its gradient",
}
_WORDS = (("nans", "NaN"), ("infs", "Inf"), ("minus_infs", "-Inf"))


def _amount(value: dict[str, Any]) -> str:
    found = [f"{value[key]:,} {word}" for key, word in _WORDS if value.get(key)]
    return f"{', '.join(found)} of {value['numel']:,}"


def _is_mask(one: Measurement) -> bool:
    """Minus infinity alone, in the forward pass, is how attention and logits are masked."""
    value = one.value
    forward = value["at"] in {"input", "output", "buffer"}
    return forward and not (value["nans"] or value["infs"])


class _Judge:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.rows: dict[int, LayerRow] = {row.order: row for row in report.layers}
        self.places = places(report)
        self.found = [one for one in report.measurements if one.probe == FOUND]

    def first(self) -> RuleFinding | None:
        """The first place; where masks alone came before it and went in, the first mask."""
        loss = self._loss()
        hard = next((one for one in self.found if not _is_mask(one)), None)
        if hard is not None and loss is not None and self._comes_before(loss[0], hard):
            hard = None
        masks = (one for one in self.found if _is_mask(one) and one.value["at"] == "output")
        mask = next(masks, None)
        if hard is None and loss is None:
            return self._parameter()
        if mask is not None and (hard is None or self._went_in(hard)):
            return self._of(mask)
        if hard is not None:
            return self._of(hard)
        return None if loss is None else loss[1]

    def _comes_before(self, step: int, hard: Measurement) -> bool:
        """Whether the loss of a step comes before a note: gradients come after it."""
        value = hard.value
        return bool(
            step < value.get("step", 0)
            or (step == value.get("step", 0) and value["at"] in _AFTER_LOSS)
        )

    def _went_in(self, hard: Measurement) -> bool:
        """Whether what is not finite already stood in what the call was given, or came later."""
        value = hard.value
        if value["at"] in _AFTER_LOSS:
            return True
        return any(
            one.value["at"] == "input" and one.value["order"] == value["order"]
            for one in self.found
            if one is not hard
        )

    def _loss(self) -> tuple[int, RuleFinding] | None:
        """The first loss that is not finite, and its step."""
        for step, loss in enumerate(self.report.run.losses):
            if isinstance(loss, str):
                which = f" of step {step}" if self.report.run.steps > 1 else ""
                said = f"the loss{which} is {loss}; every value before it was finite"
                place = self.report.model.place
                return step, RuleFinding("fail", "", "loss", said, loss, 0, place)
        return None

    def _parameter(self) -> RuleFinding | None:
        for row in reversed(self.report.parameters):
            if row.status == "non_finite":
                said = f"the gradient of {row.name} is not finite; those at the layers were finite"
                place = self.places.get(owner(row.name))
                return RuleFinding("fail", row.name, "parameter_gradient", said, None, 0, place)
        return None

    def _of(self, one: Measurement) -> RuleFinding:
        value = one.value
        number = value["nans"] + value["infs"] + value["minus_infs"]
        target, said, place = self._said(one)
        return RuleFinding("fail", target, value["at"], said, number, 0, place)

    def _said(self, one: Measurement) -> tuple[str, str, str | None]:
        value, amount = one.value, _amount(one.value)
        row = self.rows.get(value["order"])
        if value["at"] in {"parameter", "buffer"}:
            said = f"the {value['at']} {one.target} holds {amount} before the run"
            return one.target, said, self.places.get(owner(one.target))
        if value["at"] in _OF_PARAMETERS:
            which = f" (step {value['step']})" if self.report.run.steps > 1 else ""
            said = _OF_PARAMETERS[value["at"]].format(name=one.target, amount=amount, which=which)
            return one.target, said, self.places.get(owner(one.target))
        kind = value["type"]
        name = called(one.target, kind, one.call)
        place = row.place if row is not None else self.places.get(one.target)
        if value["at"] == "gradient":
            return self._gradient(one, amount, place)
        where = f"{value['at']}{value['path']}"
        if value["at"] == "input":
            root = row is not None and row.parent is None
            said = f"the {where} of {name} holds {amount}: " + (
                "the batch itself is not finite"
                if root
                else "it was made outside any module, after finite values"
            )
        else:
            before = "-Inf went in" if self._went_in(one) else "its inputs were finite"
            inside = any(other.parent == value["order"] for other in self.report.layers)
            code = " and it arose in its own code, not in a module below" if inside else ""
            said = f"the {where} of {name} holds {amount}; {before}{code}"
        return one.target, said, place

    def _gradient(
        self, one: Measurement, amount: str, place: str | None
    ) -> tuple[str, str, str | None]:
        """A gradient is made by what took the value: that call, where it is one alone."""
        takers = [self.rows[order] for order in one.value["taken_by"] if order in self.rows]
        name = called(one.target, one.value["type"], one.call)
        if len(takers) == 1:
            row = takers[0]
            said = (
                f"the gradient at the input of {called(row.name, row.type, row.call)} holds "
                f"{amount}; that at its output was finite"
            )
            return row.name or "", said, row.place
        said = f"the gradient at the output{one.value['path']} of {name} holds {amount}"
        return one.target, f"{said}; those before it in backward were finite", place


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """The first place alone: what follows it is its consequence."""
    read = next((one.value for one in report.measurements if one.probe == SEEN), None)
    if read is None:
        yield skipped("no values were looked at in this run")
        return
    found = _Judge(report).first()
    if found is not None:
        yield found
        return
    masks = any(one.probe == FOUND for one in report.measurements)
    aside = "; -Inf alone stands in some, as masks have it" if masks else ""
    yield passed(f"no NaN and no Inf in {counted(read, 'tensor')}{aside}", value=0, limit=0)


RULE = Rule(
    name="finite",
    severity="error",
    safe=True,
    says="no input, parameter, activation, loss or gradient is NaN or infinite",
    computes="Looks at every floating tensor as the run makes it: the batch, parameters and "
    "buffers, what each call takes and gives, the loss, the gradient at each output, that of each "
    "parameter, and the parameters after each step. Names the first place, in the order of the "
    "run, where a value stops being finite. Minus infinity alone, in a forward, is a mask, and "
    "counts once something else is wrong.",
    formula="count(NaN) + count(Inf) = 0",
    source="torch.autograd.detect_anomaly and smdebug's ExplodingTensor, with the place",
    fails="torch.log(x) where x holds a zero; x / x.sum() where the sum is zero",
    mend="look at the call that is named: its inputs were finite. Add an eps inside the log, the "
    "root or the denominator; compute a softmax's log with log_softmax",
    example="{rule: finite}",
    needs=lambda options: ("values", "backward"),
    judge=judge,
)
