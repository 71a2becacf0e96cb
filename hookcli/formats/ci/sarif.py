"""A check as SARIF 2.1.0, which code scanning and editors read.

A finding is a result. A finding that is suppressed or in the baseline is a result with a
`suppressions` of the kind "external" and the level "note": GitHub still shows it, but must not fail
because of it. A rule that could not be judged and a model that raised are notifications of the
invocation, whose `executionSuccessful` is then false. A check that passed has no result, because
GitHub would show it as an alert; its rule is among the rules.

GitHub identifies alerts only by `primaryLocationLineHash`, computes it from the source, and warns
about any other value: our fingerprint has a separate name.
"""

from __future__ import annotations

import json
from typing import Any

from hookcli.console import escape
from hookcli.formats.check import rows as check_rows
from hookcli.formats.ci.sarif_rules import descriptors
from hookcli.formats.parts.source import (
    Source,
    finding_source,
    folder_uri,
    model_source,
    source_of,
)
from hookcli.formats.training.selection import shown_checks
from hookcli.formats.view import View
from hookcli.outputs.escapes import json_text, sarif_message
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.verdict import Verdict, verdict_of

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_HOME = "https://github.com/hookcli/hookcli"
_ROOT = "%SRCROOT%"
_FINGERPRINT = "hookcli/v1"
_MOST = 25_000  # results: GitHub refuses a file with more
_DESCRIPTIONS = {
    Verdict.PASSED: "no findings that count",
    Verdict.FINDINGS: "findings",
    Verdict.NOT_JUDGED: "a rule could not be judged",
}


def _location(source: Source, target: str | None = None) -> dict[str, Any]:
    artifact = {"uri": source.uri(), **({"uriBaseId": _ROOT} if source.inside else {})}
    physical = {"artifactLocation": artifact, "region": {"startLine": source.line}}
    location: dict[str, Any] = {"physicalLocation": physical}
    if target:
        location["logicalLocations"] = [{"fullyQualifiedName": escape(target), "kind": "module"}]
    return location


def _harmless(value: Any) -> Any:
    """Escape the strings in a value of a finding: it may be printed to a log."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, list | tuple):
        return [_harmless(item) for item in value]
    if isinstance(value, dict):
        return {escape(str(key)): _harmless(item) for key, item in value.items()}
    return value


def _plain(row: CheckRow) -> str:
    """Return the message of a finding without the reason why it does not count."""
    text = check_rows.sentence(row)
    over = row.passed_over
    if over is None:
        return text
    reason = escape(" ".join((over.reason or "").split()))
    known = over.by == "baseline"
    return text.removeprefix("known from the baseline: " if known else f"suppressed, {reason}: ")


def _suppressions(row: CheckRow, view: View) -> dict[str, Any]:
    over = row.passed_over
    if over is None:
        return {}
    reason = "known from the baseline" if over.reason is None else escape(over.reason)
    suppression: dict[str, Any] = {
        "kind": "external",
        "status": "accepted",
        "justification": sarif_message(reason),
    }
    source = source_of(over.place, view)
    if source is not None:
        suppression["location"] = _location(source)
    return {"suppressions": [suppression]}


def _result(row: CheckRow, report: Report, view: View, index: int) -> dict[str, Any]:
    text = _plain(row)
    if not text.startswith(f"'{escape(row.target)}'"):
        text = f"{check_rows.name(row)}: {text}"
    kept = {"target": row.target, "severity": row.severity, "value": row.value, "limit": row.limit}
    return {
        "ruleId": escape(row.rule),
        "ruleIndex": index,
        "level": row.severity if row.passed_over is None else "note",
        "message": {"text": sarif_message(text)},
        "locations": [_location(finding_source(row, report, view), row.target)],
        "partialFingerprints": {_FINGERPRINT: escape(row.fingerprint)},
        **_suppressions(row, view),
        "properties": {key: _harmless(value) for key, value in kept.items() if value is not None},
    }


def _unjudged(row: CheckRow, report: Report, view: View, index: int) -> dict[str, Any]:
    text = f"{check_rows.name(row)}: {check_rows.sentence(row)}"
    return {
        "level": "error",
        "message": {"text": sarif_message(text)},
        "associatedRule": {"id": escape(row.rule), "index": index},
        "locations": [_location(finding_source(row, report, view), row.target)],
    }


def _raised(report: Report, view: View) -> list[dict[str, Any]]:
    error = report.error
    if error is None:
        return []
    layer = f" in {escape(error.layer)}" if error.layer else ""
    reason = escape(" ".join(error.message.split()))
    text = f"{escape(error.type)} in {escape(error.phase)}{layer}: {reason}"
    source = source_of(error.place, view) or model_source(report, view)
    return [
        {
            "level": "error",
            "message": {"text": sarif_message(text)},
            "locations": [_location(source, error.layer)],
            "exception": {"kind": escape(error.type), "message": reason},
        }
    ]


def _invocation(
    report: Report, view: View, rows: list[CheckRow], index: dict[str, int]
) -> dict[str, Any]:
    verdict = verdict_of(report, view.fail_on)
    invocation: dict[str, Any] = {
        "executionSuccessful": verdict in {Verdict.PASSED, Verdict.FINDINGS},
        **({} if view.exit_status is None else {"exitCode": view.exit_status}),
        "exitCodeDescription": check_rows.failure(report)
        if verdict is Verdict.MODEL_FAILED
        else _DESCRIPTIONS[verdict],
        "toolExecutionNotifications": _raised(report, view),
        "toolConfigurationNotifications": [
            _unjudged(row, report, view, index[row.rule]) for row in rows if row.status == "error"
        ],
    }
    if view.start:
        invocation["workingDirectory"] = {"uri": folder_uri(view.start)}
    return invocation


def _omitted(count: int) -> list[dict[str, Any]]:
    if count <= _MOST:
        return []
    text = f"{count - _MOST:,} results are omitted: GitHub accepts at most {_MOST:,}"
    return [{"level": "warning", "message": {"text": text}}]


def _written(log: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Return the log as text, with one line per result of its only run."""
    end = "\n    }\n  ]\n}"  # closes the run, the runs and the log
    head = json.dumps(log, indent=2, allow_nan=False).removesuffix(end)
    lines = ",\n".join(f"        {json.dumps(result, allow_nan=False)}" for result in results)
    listed = f"[\n{lines}\n      ]" if results else "[]"
    return json_text(f'{head},\n      "results": {listed}{end}\n')


def render(result: Report | TrainingReport, view: View) -> str:
    """Render a log with one run and its findings, the worst first."""
    report, view = shown_checks(result, view)
    rows = check_rows.by_cause(report, check_rows.select_rows(report, view))
    reported = [row for row in rows if row.status == "fail" or row.passed_over is not None]
    rules = descriptors(row.rule for row in check_rows.picked(report, view))
    index = {rule["id"]: i for i, rule in enumerate(rules)}
    at = {row.rule: index[escape(row.rule)] for row in rows}
    driver = {
        "name": "hookcli",
        "informationUri": _HOME,
        "version": escape(report.environment.hookcli),
        "rules": rules,
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report, view, rows, at)],
    }
    run["invocations"][0]["toolExecutionNotifications"] += _omitted(len(reported))
    if view.root:
        run["originalUriBaseIds"] = {_ROOT: {"uri": folder_uri(view.root)}}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return _written(log, [_result(row, report, view, at[row.rule]) for row in reported[:_MOST]])
