"""`hooks_fired`: every configured hook fires. The run itself makes these findings."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed


def noted(report: Report, rule: str) -> Iterator[RuleFinding]:
    """Yield the findings that the run recorded for a rule."""
    for row in report.checks:
        if row.rule == rule and row.status == "fail":
            yield RuleFinding(
                "fail", row.target, "", row.message, row.value, row.limit, row.place,
                row.severity, row.fingerprint,
            )  # fmt: skip


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each hook that never fired, or not as often as its module ran."""
    findings = list(noted(report, "hooks_fired"))
    yield from findings
    if not findings:
        yield passed("every configured hook fired")


RULE = Rule(
    name="hooks_fired",
    severity="error",
    safe=True,
    looks_at="hooks",
    says="every configured hook fires, and a forward hook fires as often as its module runs",
    computes="Counts how often each configured hook fires. Reports hooks that were attached and "
    "never fired, with the likely reason. Reports forward and forward_pre hooks on all calls if "
    "they fired more or less often than their module ran.",
    formula="firings(hook) >= 1; firings(forward hook, module) = calls(module)",
    source="hookcli's own: torch does not report a hook that never fires",
    fails="a backward hook on a module whose output is a dict; a hook on a module that never runs; "
    "model code that clears _forward_hooks",
    mend="see the reason in the message; run `hookcli explain hook:KIND` to see when a kind fires",
    example="{rule: hooks_fired}",
    judge=judge,
)
