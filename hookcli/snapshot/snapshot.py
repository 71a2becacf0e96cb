"""A report → checks that hold today, and suppressions of what is found today."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE, with_safe_set
from hookcli.rules.judge import judge_report
from hookcli.snapshot.costs import compute, size
from hookcli.snapshot.learning import learning
from hookcli.snapshot.order import order
from hookcli.snapshot.section import Section, spec_of
from hookcli.snapshot.shapes import dtypes, layers, outer
from hookcli.snapshot.suppressions import suppress_findings
from hookcli.spec.checks import CheckSpec, Suppression

# What a snapshot wants of a run beside what the safe set does.
PROBES = ("flops", "grown", "step")


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """What goes into the file. `found` are the findings of today that are suppressed in it."""

    sections: tuple[Section, ...]
    suppressions: tuple[Suppression, ...]
    found: tuple[CheckRow, ...]


def snapshot(
    report: Report,
    base: Sequence[CheckSpec] = (),
    suppressed: Sequence[Suppression] = (),
    *,
    depth: int | None = None,
) -> Snapshot:
    """The checks that a complete report keeps; `base` are those that a configuration has already.

    Judged by both the report has no finding that counts.
    """
    named = {check.rule for check in base}
    parts = (
        Section((), ()) if not report.layers else outer(report),
        layers(report, depth),
        dtypes(report),
        order(report, depth),
        size(report),
        compute(report),
        learning(report),
    )
    sections = tuple(
        part
        for section in (_safe(report, named), *parts)
        if (part := _held(report, section)).checks
    )
    checks = [*base, *(spec_of(check) for section in sections for check in section.checks)]
    today = judge_report(report, with_safe_set(tuple(checks)), suppressed)
    findings = tuple(row for row in today.checks if row.status == "fail" and row.rule in CATALOGUE)
    return Snapshot(
        sections, suppress_findings(dataclasses.replace(report, checks=findings)), findings
    )


def _held(report: Report, section: Section) -> Section:
    """The section without what does not hold: names may be such that no glob tells them apart."""
    kept = tuple(check for check in section.checks if _holds(report, check))
    return dataclasses.replace(section, checks=kept)


def _holds(report: Report, check: dict[str, Any]) -> bool:
    if CATALOGUE[check["rule"]].safe:
        return True  # what is found by these is suppressed
    rows = judge_report(report, (spec_of(check),)).checks
    return all(row.status in {"pass", "skip"} for row in rows if row.rule == check["rule"])


def _safe(report: Report, named: set[str]) -> Section:
    """The safe set, warnings as errors: what is fine today is to stay so."""
    passed = {
        row.rule
        for row in judge_report(report, with_safe_set(())).checks
        if row.status in {"pass", "fail"}
    }
    checks: list[dict[str, Any]] = []
    for rule in CATALOGUE.values():
        if not rule.safe or rule.name in named:
            continue
        check = {"rule": rule.name}
        if rule.severity == "warning" and rule.name in passed:
            check["severity"] = "error"
        checks.append(check)
    says = ("What is always judged; from now on all of it is an error.",)
    return Section(says, tuple(checks))
