"""What is found of a model today, as suppressions: from now on it is new findings that count."""

from __future__ import annotations

from collections.abc import Iterable

from hookcli.report.findings import CheckRow
from hookcli.report.model import Report
from hookcli.rules.check import Suppression
from hookcli.snapshot.covers import cover

_REASONS = {
    "uncalled_modules": "never ran when the snapshot was taken",
    "grad_exists": "got no gradient when the snapshot was taken",
}
_ELSE = "found when the snapshot was taken: mend it, and take this out"


def _targets(report: Report) -> set[str]:
    """What findings may be about: modules and parameters, by each of their names."""
    found = {""}
    for row in report.layers:
        if row.name is not None:
            found.update((row.name, *row.aliases))
    found.update(one.name for one in report.uncalled)
    for parameter in report.parameters:
        for name in (parameter.name, *parameter.shared_with):
            found.update((name, name.rpartition(".")[0]))
    return found


def _reason(rule: str, rows: Iterable[CheckRow]) -> str:
    """Why they do not count. BatchNorms that run twice are no modules that never ran."""
    if rule == "uncalled_modules" and any(row.value for row in rows):
        return _ELSE
    return _REASONS.get(rule, _ELSE)


def excused(report: Report) -> tuple[Suppression, ...]:
    """A suppression for each group of findings of a judged report, which matches them alone."""
    failed: dict[str, list[CheckRow]] = {}
    for row in report.checks:
        if row.status == "fail":
            failed.setdefault(row.rule, []).append(row)
    everything = _targets(report) if failed else set()
    found: list[Suppression] = []
    for rule, rows in failed.items():
        by_target = {row.target: row for row in rows}
        globs = cover(list(by_target), sorted(everything | by_target.keys()))
        found += [Suppression(rule, glob, _reason(rule, rows), "") for glob in globs]
    return tuple(found)
