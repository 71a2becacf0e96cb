"""Judge a report by checks. Pure: this runs no model and reads no file."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Sequence

from hookcli.report.findings import DROPPED, CheckRow, PassedOver, Severity
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import (
    COMPILED_PROBES,
    UNFINISHED,
    UNSEEN,
    Options,
    Rule,
    RuleFinding,
    unseen,
)
from hookcli.rules.select import matches, without_record
from hookcli.spec.checks import CheckSpec, Suppression

UNUSED = "unused_suppression"
_OF_INPUTS = {"input_shape", "firing_order"}  # of layers, which compiled code does not write
_OF_THE_RUN = {"neutral", "hooks_fired", "hook_misuse"}  # the run itself makes these findings


def fingerprint(rule: str, target: str, kind: str) -> str:
    """Return a hash that depends on the rule, target and kind, not on values or line numbers."""
    told = f"{rule}|{target}|{kind}".encode(errors="surrogatepass")  # as names of modules may be
    return hashlib.sha256(told).hexdigest()[:16]


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
    (rows,), unused = pass_over([all_rows(report, checks)], suppressions, known)
    return dataclasses.replace(report, checks=(*rows, *unused))


def all_rows(report: Report, checks: Sequence[CheckSpec]) -> list[CheckRow]:
    """Return the rows that the run itself made, and those of the checks."""
    run_rules = _OF_THE_RUN - {check.rule for check in checks}
    rows = [row for row in report.checks if row.rule in run_rules]
    for check in checks:
        rows.extend(_rows(report, check))
    return rows


def pass_over(
    groups: Sequence[Sequence[CheckRow]],
    suppressions: Sequence[Suppression],
    known: Collection[str],
    records: Sequence[str] = (),
) -> tuple[list[list[CheckRow]], list[CheckRow]]:
    """Return groups of rows with the findings that do not count, and the unused suppressions.

    A suppression matches a target with or without the name of one of the records.
    """
    used: set[Suppression] = set()
    settled = [
        [_passed_over(row, suppressions, known, used, records) for row in rows] for rows in groups
    ]
    rows: list[CheckRow] = []
    for meta in (False, True):  # an unused suppression can be suppressed too
        idle = [
            suppression
            for suppression in suppressions
            if suppression not in used and (suppression.rule == UNUSED) is meta
        ]
        over = () if meta else suppressions  # a suppression cannot suppress itself
        rows += [_passed_over(_unused(suppression), over, known, used) for suppression in idle]
    return settled, rows


def _rows(report: Report, check: CheckSpec) -> Iterator[CheckRow]:
    rule = CATALOGUE[check.rule]
    options = rule.filled(check.options)
    lost = _dropped(report, rule, options) or _not_compiled(report, rule, options)
    findings = list(rule.judge(report, options)) if lost is None else [lost]
    if report.error is not None and not any(result.status == "fail" for result in findings):
        findings = [RuleFinding("skip", "", "", UNFINISHED)]
    for finding in findings:
        if finding.status == "fail" or not check.only_failures:
            yield row_of(rule, check, finding)


def _dropped(report: Report, rule: Rule, options: Options) -> RuleFinding | None:
    """Return why a rule cannot look, if a probe that it requires ended with an error."""
    errors = {row.target: row.value["error"] for row in report.measurements if row.probe == DROPPED}
    if not errors:
        return None
    for request in (*rule.needs(options), *rule.watches(options)):
        if request.name in errors:
            return unseen(f"hookcli's probe '{request.name}' failed: {errors[request.name]}")
    return None


def _not_compiled(report: Report, rule: Rule, options: Options) -> RuleFinding | None:
    """Return why a rule cannot look at a model that ran compiled, if it needs more than that."""
    if report.run.compiled is None:
        return None
    needed = {request.name for request in (*rule.needs(options), *rule.watches(options))}
    if needed <= COMPILED_PROBES and rule.name not in _OF_INPUTS:
        return None
    return unseen("it needs a run without the compiler: omit `--compiled`")


def _target(check: CheckSpec, finding: RuleFinding) -> str:
    """Return the target of the finding; if nothing is wrong, the globs of the check."""
    at = check.options.get("at", "")
    if finding.target or finding.status not in {"pass", "skip"}:
        return finding.target
    return at if isinstance(at, str) else ", ".join(at)


def row_of(rule: Rule, check: CheckSpec, finding: RuleFinding) -> CheckRow:
    """Return the row of a finding of a check."""
    return CheckRow(
        rule=rule.name,
        target=_target(check, finding),
        status=finding.status,
        severity=_severity(rule, check, finding),
        value=finding.value,
        limit=finding.limit,
        message=finding.message,
        place=finding.place or (check.place if finding.status == "error" else None) or None,
        fingerprint=finding.fingerprint or fingerprint(rule.name, finding.target, finding.kind),
        cause=finding.cause or None,
        advice=finding.advice,
        step=finding.step,
        unseen=(finding.status == "skip" and finding.kind == UNSEEN) or None,
    )


def _severity(rule: Rule, check: CheckSpec, finding: RuleFinding) -> Severity:
    """Return that of the check, else of the finding, else of the rule; a note stays one."""
    if finding.severity == "note":
        return "note"
    return check.severity or finding.severity or rule.severity


def _passed_over(
    row: CheckRow,
    suppressions: Sequence[Suppression],
    known: Collection[str],
    used: set[Suppression],
    records: Sequence[str] = (),
) -> CheckRow:
    if row.status != "fail":
        return row
    for suppression in suppressions:
        names = (row.target, *(without_record(record, row.target) for record in records))
        if suppression.rule == row.rule and matches(suppression.at, row.target, names):
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
