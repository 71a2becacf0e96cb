"""Suppressions of today's findings, so that only new findings count."""

from __future__ import annotations

from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.rules.grad_exists import IS_ZERO
from hookcli.rules.select import matches
from hookcli.snapshot.globs import cover
from hookcli.spec.checks import Suppression

_WHEN = "when the snapshot was taken"
_ELSE = f"found {_WHEN}: fix it and remove this suppression"


def _targets(report: Report) -> set[str]:
    """Return the possible targets of findings: modules and parameters, with all their names."""
    targets = {""}
    for row in report.layers:
        if row.name is not None:
            targets.update((row.name, *row.aliases))
    targets.update(module.name for module in report.uncalled)
    for parameter in report.parameters:
        for name in (parameter.name, *parameter.shared_with):
            targets.update((name, name.rpartition(".")[0]))
    return targets


def _reason(rows: list[CheckRow]) -> str:
    """Return why the findings do not count.

    uncalled_modules also reports BatchNorms that run twice. Their `value` is the number of calls,
    and that of a module that never ran is 0.
    """
    rule = rows[0].rule
    if rule == "uncalled_modules" and not any(row.value for row in rows):
        return f"never ran {_WHEN}"
    if rule != "grad_exists":
        return _ELSE
    zero = [IS_ZERO in row.message for row in rows]
    if all(zero):
        return f"its gradient was zero {_WHEN}"
    return f"got no gradient{', or only zeros,' if any(zero) else ''} {_WHEN}"


def suppress_findings(report: Report) -> tuple[Suppression, ...]:
    """Return a suppression for each group of findings, which matches only these findings."""
    failed: dict[str, list[CheckRow]] = {}
    for row in report.checks:
        if row.status == "fail":
            failed.setdefault(row.rule, []).append(row)
    everything = _targets(report) if failed else set()
    suppressions: list[Suppression] = []
    for rule, rows in failed.items():
        targets = dict.fromkeys(row.target for row in rows)
        for glob in cover(list(targets), sorted(everything | targets.keys())):
            covered = [row for row in rows if matches(glob, row.target)]
            suppressions.append(Suppression(rule, glob, _reason(covered), ""))
    return tuple(suppressions)
