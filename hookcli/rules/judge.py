"""Judge a report by checks. Pure: this runs no model and reads no file."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Sequence

from hookcli.report.findings import CheckRow, PassedOver
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import UNFINISHED, Rule, RuleFinding
from hookcli.rules.select import matches
from hookcli.spec.checks import CheckSpec, Suppression

UNUSED = "unused_suppression"
_OF_THE_RUN = {"neutral", "hooks_fired", "hook_misuse"}  # the run itself makes these findings


def fingerprint(rule: str, target: str, kind: str) -> str:
    """Return a hash that depends on the rule, target and kind, not on values or line numbers."""
    return hashlib.sha256(f"{rule}|{target}|{kind}".encode()).hexdigest()[:16]


def judge_report(
    report: Report,
    checks: Sequence[CheckSpec],
    suppressions: Sequence[Suppression] = (),
    known: Collection[str] = (),
) -> Report:
    """Return the report with a row for each finding and for each rule that passed.

    A finding that is suppressed, or whose fingerprint is in `known`, has the status "skip" and
    the reason.
    """
    run_rules = _OF_THE_RUN - {check.rule for check in checks}
    rows = [row for row in report.checks if row.rule in run_rules]
    for check in checks:
        rows.extend(_rows(report, check))
    used: set[Suppression] = set()
    rows = [_passed_over(row, suppressions, known, used) for row in rows]
    for meta in (False, True):  # an unused suppression can be suppressed too
        idle = [
            suppression
            for suppression in suppressions
            if suppression not in used and (suppression.rule == UNUSED) is meta
        ]
        over = () if meta else suppressions  # a suppression cannot suppress itself
        rows += [_passed_over(_unused(suppression), over, known, used) for suppression in idle]
    return dataclasses.replace(report, checks=tuple(rows))


def _rows(report: Report, check: CheckSpec) -> Iterator[CheckRow]:
    rule = CATALOGUE[check.rule]
    findings = list(rule.judge(report, rule.filled(check.options)))
    if report.error is not None and not any(result.status == "fail" for result in findings):
        findings = [RuleFinding("skip", "", "", UNFINISHED)]
    for finding in findings:
        if finding.status == "fail" or not check.only_failures:
            yield _row(rule, check, finding)


def _target(check: CheckSpec, finding: RuleFinding) -> str:
    """Return the target of the finding; if nothing is wrong, the globs of the check."""
    at = check.options.get("at", "")
    if finding.target or finding.status not in {"pass", "skip"}:
        return finding.target
    return at if isinstance(at, str) else ", ".join(at)


def _row(rule: Rule, check: CheckSpec, finding: RuleFinding) -> CheckRow:
    return CheckRow(
        rule=rule.name,
        target=_target(check, finding),
        status=finding.status,
        severity=check.severity or finding.severity or rule.severity,
        value=finding.value,
        limit=finding.limit,
        message=finding.message,
        place=finding.place or (check.place if finding.status == "error" else None) or None,
        fingerprint=finding.fingerprint or fingerprint(rule.name, finding.target, finding.kind),
        cause=finding.cause or None,
        advice=finding.advice,
    )


def _passed_over(
    row: CheckRow,
    suppressions: Sequence[Suppression],
    known: Collection[str],
    used: set[Suppression],
) -> CheckRow:
    if row.status != "fail":
        return row
    for suppression in suppressions:
        if suppression.rule == row.rule and matches(suppression.at, row.target):
            used.add(suppression)
            message = f"suppressed, {suppression.reason}: {row.message}"
            why = PassedOver("suppression", suppression.reason, suppression.place)
            return dataclasses.replace(row, status="skip", message=message, passed_over=why)
    if row.fingerprint in known:
        message = f"known from the baseline: {row.message}"
        why = PassedOver("baseline")
        return dataclasses.replace(row, status="skip", message=message, passed_over=why)
    return row


def _unused(suppression: Suppression) -> CheckRow:
    rule, target = suppression.rule, suppression.at
    message = f"unused suppression of {rule} at '{target}': remove it"
    return CheckRow(
        rule=UNUSED,
        target=suppression.at,
        status="fail",
        severity="warning",
        value=0,
        limit=1,
        message=message,
        place=suppression.place,
        fingerprint=fingerprint(UNUSED, suppression.at, suppression.rule),
    )
