"""Turns a report into checks that pass today, and suppressions of today's findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE, with_safe_set
from hookcli.rules.judge import judge_report
from hookcli.snapshot.costs import compute, size
from hookcli.snapshot.gradients import gradients
from hookcli.snapshot.learning import learning
from hookcli.snapshot.module_types import module_types
from hookcli.snapshot.order import order
from hookcli.snapshot.section import Section, spec_of
from hookcli.snapshot.shapes import dtypes, layers, outer
from hookcli.snapshot.suppressions import suppress_findings
from hookcli.spec.checks import CheckSpec, Suppression, request_probe

# The probes that a snapshot needs in addition to those of the safe set.
OF_GRADIENTS = (request_probe("step"), request_probe("cuts"))
PROBES = (
    request_probe("flops"),
    request_probe("grown"),
    request_probe("module_settings"),
    *OF_GRADIENTS,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of the file. `found` contains today's findings, which the file suppresses."""

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
    """Return checks that a complete report passes, in addition to those of a configuration, `base`.

    With both, the report has no finding that counts.
    """
    named = {check.rule for check in base}
    parts = (
        Section((), ()) if not report.layers else outer(report),
        layers(report, depth),
        dtypes(report),
        module_types(report, depth),
        order(report, depth),
        size(report),
        compute(report),
        learning(report),
        gradients(report),
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
    """Return the section without checks that fail: a glob cannot tell all names apart."""
    kept = tuple(check for check in section.checks if _holds(report, check))
    return dataclasses.replace(section, checks=kept)


def _holds(report: Report, check: dict[str, Any]) -> bool:
    if CATALOGUE[check["rule"]].safe:
        return True  # the findings of these are suppressed
    rows = judge_report(report, (spec_of(check),)).checks
    return all(row.status in {"pass", "skip"} for row in rows if row.rule == check["rule"])


def _safe(report: Report, named: set[str]) -> Section:
    """Return the safe set, with warnings as errors for rules that were evaluated."""
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
    says = ("The safe set, which is always checked. Warnings are errors.",)
    return Section(says, tuple(checks))
