"""The checks and the diagnoses of a report, with links to layers and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.check.rows import mend, rank, value_text, word
from hookcli.formats.html.data.references import Reference, References
from hookcli.formats.parts.text import place
from hookcli.report.findings import CheckRow, Diagnosis


def checks(rows: Sequence[CheckRow], references: References) -> list[dict[str, Any]]:
    """Return the checks, the worst first; keys without a value are omitted."""
    return [_check(row, references.of(row.target)) for row in sorted(rows, key=rank)]


def _check(row: CheckRow, at: Reference) -> dict[str, Any]:
    passed = row.passed_over
    fields = {
        "rule": escape(row.rule),
        "target": escape(row.target),
        "outcome": word(row),  # "fail", "warning", "not judged", "skip", "pass"
        "severity": row.severity,
        "value": None if row.value is None else value_text(row.value),
        "limit": None if row.limit is None else value_text(row.limit),
        "message": escape(" ".join(row.message.split())),
        "place": None if row.place is None else place(row.place),
        "advice": escape(row.advice) if row.advice else mend(row),
        "step": row.step,
        "passed_over": None if passed is None else passed.by,
        "reason": None if passed is None or passed.reason is None else escape(passed.reason),
        "layer": at.layer,
        "parameter": at.parameter,
    }
    return {key: value for key, value in fields.items() if value not in (None, "", -1)}


def diagnosis(row: Diagnosis, references: References) -> dict[str, Any]:
    """Return a diagnosis; `layer` and `parameter` are rows, as in a check."""
    at = references.of(row.target)
    fields = {
        "severity": row.severity,
        "sentence": escape(row.sentence),
        "advice": None if row.advice is None else escape(row.advice),
        "target": escape(row.target),
        "place": None if row.place is None else place(row.place),
        "record": None if row.record is None else escape(row.record),
        "step": row.step,
        "layer": at.layer,
        "parameter": at.parameter,
    }
    return {key: value for key, value in fields.items() if value not in (None, "", -1)}
