"""`hook_misuse`: no hook does what torch does not support."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.hooks_fired import noted
from hookcli.rules.rule import Options, Rule, RuleFinding, passed


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each misuse that the run recorded."""
    findings = list(noted(report, "hook_misuse"))
    yield from findings
    if not findings:
        yield passed("no configured hook was misused")


RULE = Rule(
    name="hook_misuse",
    severity="error",
    looks_at="hooks",
    says="no hook changes its arguments in place, returns a wrong value, or keeps tensors alive",
    computes="Watches every configured hook: in-place changes of its arguments, its return value, "
    "and the tensors that it still references after the run.",
    formula="version(argument) unchanged; return fits; nothing retained",
    source="hookcli's own: torch accepts any return value except None",
    fails="def hook(grad): grad.mul_(0.5); a hook that appends outputs to a list",
    mend="return a new value, such as grad * 0.5; keep numbers, or a detached clone of a small "
    "tensor",
    example="{rule: hook_misuse}",
    judge=judge,
)
