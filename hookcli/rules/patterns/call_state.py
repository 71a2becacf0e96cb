"""What a call leaves behind: values for the next call, and inputs that it has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import owner, places, rows_with
from hookcli.spec.checks import request_probe

KEPT, STATE, CHANGED = "kept_tensors", "call_state", "changed_inputs"


_PASSED = (
    "set it at the start of forward, or pass it as an argument and return it; `detach` it between "
    "steps"
)
_WRITTEN = "change it only `if self.training`, unless evaluation is meant to depend on its order"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute or buffer with values of an earlier call."""
    rows = [m for m in report.measurements if m.probe == STATE and isinstance(m.value, Mapping)]
    found = [row for row in rows if "resets" in row.value]
    where = places(report) if found else {}
    for row in found:
        message = (
            f"'{row.target}' keeps values from one call to the next: after a call with another "
            "input, the same input returns other outputs, unless it is restored"
        )
        yield RuleFinding(
            "fail", row.target, "state", message,
            place=where.get(owner(row.target), report.model.place),
            severity="note" if row.value["resets"] or row.value.get("buffer") else None,
            advice=_WRITTEN if row.value.get("buffer") else _PASSED,
        )  # fmt: skip
    if found:
        return
    if any(m.probe == KEPT for m in report.measurements):
        yield passed("no call depends on an earlier one")
    else:
        yield skipped("what a call leaves behind was not looked at")


def _changed(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each input that a forward writes to."""
    found = rows_with(report, CHANGED, "first")
    for path, value in found:
        message = (
            f"forward changes input{path} {value['shape']} in place: the caller's tensor has other "
            "values afterwards"
        )
        yield RuleFinding(
            "fail", "", f"changed {path}", message, place=value["place"] or report.model.place,
            severity=None if value["first"] else "note",
            advice="change a copy, as `x = x - x.mean()`, or `x = x.clone()` first",
        )  # fmt: skip
    if not found:
        looked = any(one.probe == CHANGED for one in report.measurements)
        message = "no forward writes to its inputs"
        yield passed(message) if looked else skipped("the inputs of the model were not looked at")


CHANGED_INPUTS = Rule(
    name="changed_inputs",
    severity="warning",
    diagnoses=True,
    of_training=True,
    looks_at="inputs",
    says="a forward leaves its inputs as they are",
    computes="Compares the versions of the tensors that the model gets before and after a forward, "
    "which each write to a tensor raises. The first input is a warning, and others a note, as a "
    "cache may be filled on purpose. What another module has computed does not count.",
    formula="x._version before f(x) = x._version after it",
    source="torch.Tensor.sub_ and its like: `in-place version`",
    fails="x -= x.mean(dim=1, keepdim=True); nn.ReLU(inplace=True) as the first layer",
    mend="x = x - x.mean(dim=1, keepdim=True)",
    example="{rule: changed_inputs, severity: error}",
    watches=lambda options: (request_probe(CHANGED),),
    judge=_changed,
)

RULE = Rule(
    name="state_between_calls",
    severity="warning",
    diagnoses=True,
    looks_at="repeated runs",
    says="a call of the model does not depend on the calls before it",
    computes="Compares the tensors in attributes and buffers of modules before and "
    "after the run, without the statistics of batch norms. Only if one was replaced or changed, "
    "the model is called with the same input and seed in eval mode before and after a call with "
    "other samples. It is a finding if the outputs differ, and if one more call returns those "
    "of the first one after they are restored. It is a note if it is a buffer, which is saved "
    "on purpose, if forward detaches it, or if the module has a method that resets it. Values "
    "that are kept and change no output do not count.",
    formula="f(x) = f(x) in eval mode",
    source="torch.nn.LSTM: the state is an argument and a result",
    fails="self.h = self.cell(x, self.h), without a reset",
    mend="set it at the start of forward, or pass it as an argument and return it",
    example="{rule: state_between_calls, severity: error}",
    watches=lambda options: (request_probe(KEPT), request_probe(STATE)),
    judge=judge,
)
