"""Turns a file of weights into checks that it passes today."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hookcli.report.report import Report
from hookcli.rules.judge_weights import judge_weights, with_finite
from hookcli.snapshot.globs import NameSet, folded
from hookcli.snapshot.section import Section, spec_of
from hookcli.snapshot.shapes import dtypes
from hookcli.snapshot.snapshot import Snapshot
from hookcli.snapshot.suppressions import suppress_findings
from hookcli.spec.checks import CheckSpec, Suppression

_MOST = 200  # checks of shapes


def weights_snapshot(
    report: Report, base: Sequence[CheckSpec] = (), suppressed: Sequence[Suppression] = ()
) -> Snapshot:
    """Return checks that a file of weights passes, in addition to those of a configuration, `base`.

    `report` is that of `as_report`. With the suppressions, it has no finding that counts.
    """
    parts = (
        Section(("No NaN and no Inf, which is always checked.",), ({"rule": "finite"},)),
        dtypes(report),
        _shapes(report),
        _size(report),
    )
    sections = tuple(part for section in parts if (part := _held(report, section)).checks)
    checks = [*base, *(spec_of(check) for section in sections for check in section.checks)]
    today = judge_weights(report, with_finite(tuple(checks)), suppressed)
    found = tuple(row for row in today.checks if row.status == "fail")
    return Snapshot(sections, suppress_findings(dataclasses.replace(report, checks=found)), found)


def _held(report: Report, section: Section) -> Section:
    """Return the section without checks that fail; findings of `finite` are suppressed."""
    kept = tuple(
        check
        for check in section.checks
        if check["rule"] == "finite"
        or all(row.status == "pass" for row in judge_weights(report, (spec_of(check),)).checks)
    )
    return dataclasses.replace(section, checks=kept)


def _shapes(report: Report) -> Section:
    """Return checks of shapes; tensors whose names differ only in numbers have one together."""
    shapes = {row.name: row.shape for row in report.parameters}
    names = [name for row in report.parameters for name in (row.name, *row.shared_with)]
    folds = folded(shapes, NameSet(names))
    more = (f"The first {_MOST} of {len(folds):,}.",) if len(folds) > _MOST else ()
    checks = tuple(
        {"rule": "parameter_shape", "at": glob, "shape": list(shapes_of)}
        for glob, shapes_of in folds[:_MOST]
        if isinstance(shapes_of, tuple)
    )
    return Section(("The shapes.", *more), checks)


def _size(report: Report) -> Section:
    whole = {
        name: getattr(report.model, name)
        for name in ("parameters", "parameter_bytes")
        if getattr(report.model, name) is not None
    }
    says = ("The size. Update these numbers if you change the size on purpose.",)
    return Section(says, ({"rule": "budget", **whole, "exact": True},) if whole else ())
