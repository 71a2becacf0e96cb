"""Findings that follow from a hook of the configuration: it made the values that a rule finds."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.catalogue.kind import LayerFigures
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.diagnosis.facts import Facts, Found
from hookcli.report.events import ChangeRow
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.rules.select import owner

CAUSE = "configured_hook"
_OUTPUT = LayerFigures("value", "output")  # what a kind gets, that of a call


def zeroed_by_hook(facts: Facts) -> Iterator[Found]:
    """Yield the outputs that a hook has set to zero, with the findings there and before them."""
    for target in _zeroed(facts.report):
        rows = [row for row in facts.of("all_zero", "low_variance") if _is_at(row, target)]
        end = facts.ends.get(target)
        rows += [
            row
            for row in facts.of("grad_exists", "grad_path")
            if row.severity != "note" and end is not None and _last(facts, row.target) <= end
        ]
        if rows:
            yield Found(
                CAUSE,
                f"a hook of the configuration sets the output of '{target}' to zero, so no "
                "gradient passes through it",
                target,
                tuple(rows),
                advice="remove the hook to see the model without its effect",
            )


def _zeroed(report: Report) -> Iterator[str]:
    """Yield the modules whose output a hook of the configuration has set to zero."""
    seen = set[str]()
    for event in report.events if isinstance(report.events, tuple) else ():
        target = event.target.removesuffix(":output")
        kind = KINDS.get(event.kind)
        if kind is None or kind.layer != _OUTPUT or event.hook is None or target in seen:
            continue
        if event.changes and all(_became_zero(change) for change in event.changes):
            seen.add(target)
            yield target


def _became_zero(change: ChangeRow) -> bool:
    before, after = change.before or {}, change.after or {}
    return bool(before.get("norm")) and after.get("zeros") == after.get("numel") != 0


def _is_at(row: CheckRow, target: str) -> bool:
    """Return whether a finding about values is that of the module, or of the whole model."""
    return row.target in {target, ""} or owner(row.target) == target


def _last(facts: Facts, module: str) -> int:
    """Return the position in forward of the last parameter at or below a module."""
    found = [
        place
        for name, place in facts.order.items()
        if name == module or name.startswith(f"{module}.") or not module
    ]
    return max(found, default=0)
