"""`state_between_calls`: a call of the model does not depend on the calls before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import owner, places
from hookcli.spec.checks import request_probe

KEPT, STATE = "kept_tensors", "call_state"


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


RULE = Rule(
    name="state_between_calls",
    severity="warning",
    diagnoses=True,
    looks_at="repeated runs",
    says="a call of the model does not depend on the calls before it",
    computes="Compares the tensors in attributes and buffers of modules before and after the run, "
    "without the statistics of batch norms. Only if one was replaced or changed, the model is "
    "called with the same input and seed in eval mode before and after a call with other samples. "
    "It is a finding if the outputs differ, and if one more call returns those of the first one "
    "after they are restored. It is a note if it is a buffer, which is saved on purpose, or if the "
    "module has a method that resets it. Values that are kept and change no output do not count.",
    formula="f(x) = f(x) in eval mode",
    source="torch.nn.LSTM: the state is an argument and a result",
    fails="self.h = self.cell(x, self.h), without a reset",
    mend="set it at the start of forward, or pass it as an argument and return it",
    example="{rule: state_between_calls, severity: error}",
    watches=lambda options: (request_probe(KEPT), request_probe(STATE)),
    judge=judge,
)
