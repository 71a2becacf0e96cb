"""Baselines: files with the fingerprints of known findings, for version control."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookcli.errors import RequestError
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read

if TYPE_CHECKING:
    from hookcli.report.report import Report

SCHEMA = "hookcli.baseline/1"


def known(file: str) -> frozenset[str]:
    """Return the fingerprints in a baseline.

    Raises
    ------
    RequestError : the file cannot be read, or is not a baseline.

    """
    hint = f"write one with `--baseline {file} --update-baseline`"
    try:
        text = read_bytes(file)
    except OSError as error:
        raise RequestError(
            cannot_read(file, error.strerror), place=f"--baseline {file}", hint=hint
        ) from None
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise ValueError(document["schema"])
        return frozenset(str(finding["fingerprint"]) for finding in document["findings"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RequestError(
            f"{file} is not a hookcli baseline", place=f"--baseline {file}", hint=hint
        ) from None


def baseline(report: Report) -> tuple[str, int]:
    """Return the text of a baseline, and how many findings of the report it has.

    Each has a line; they are sorted by rule and target.
    """
    rows = {
        row.fingerprint: {
            "fingerprint": row.fingerprint,
            "rule": row.rule,
            "target": row.target,
            "message": row.message,
        }
        for row in report.checks
        if row.status == "fail"
    }
    ordered = sorted(
        rows.values(), key=lambda entry: (entry["rule"], entry["target"], entry["fingerprint"])
    )
    lines = ",\n".join(f"    {json.dumps(entry)}" for entry in ordered)
    body = f"\n{lines}\n  " if lines else ""
    return f'{{\n  "schema": "{SCHEMA}",\n  "findings": [{body}]\n}}\n', len(rows)
