"""`hooks_fired` and `hook_misuse`: what the run itself found of the configured hooks."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed


def noted(report: Report, rule: str) -> Iterator[RuleFinding]:
    """What the run noted under a rule's name."""
    for row in report.checks:
        if row.rule == rule and row.status == "fail":
            yield RuleFinding(
                "fail", row.target, "", row.message, row.value, row.limit, row.place,
                row.severity, row.fingerprint,
            )  # fmt: skip


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """A finding for each hook that never fired, or not as often as its module ran."""
    findings = list(noted(report, "hooks_fired"))
    yield from findings
    if not findings:
        yield passed("every configured hook fired")


RULE = Rule(
    name="hooks_fired",
    severity="error",
    safe=True,
    says="every configured hook fires, and a forward hook as often as its module runs",
    computes="Counts the firings of each hook of the configuration, and finds those that were "
    "attached and did nothing, with the likely reason; of forward and forward_pre hooks on every "
    "call those that fired more or less often than their module ran.",
    formula="firings(hook) >= 1; firings(forward hook, module) = calls(module)",
    source="hookcli's own: torch is silent about a hook that waits for ever",
    fails="a backward hook on a module whose output is a dict; a hook on a module that never runs; "
    "code of the model that clears _forward_hooks",
    mend="see the reason that is given; hookcli explain hook:KIND says when a kind fires",
    example="{rule: hooks_fired}",
    needs=lambda options: (),
    judge=judge,
)
