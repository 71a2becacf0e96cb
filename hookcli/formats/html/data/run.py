"""What the page of a training has beside its records: the script, and what concerns all records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.errors import error
from hookcli.formats.html.data.findings import checks
from hookcli.formats.html.data.references import NOTHING, References
from hookcli.formats.parts.text import place
from hookcli.formats.training.facts import ranks_of
from hookcli.formats.training.findings import made, tensor
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import FirstNonFinite, OtherModule, TrainingReport


def run(report: TrainingReport, whole: Report, references: Sequence[References]) -> dict[str, Any]:
    """Return what concerns the run; `whole` has its error, `references` are those of its records.

    Raises
    ------
    ValueError : a record is not one of a training.
    """
    return {
        "facts": _facts(report),
        "error": error(whole.error, NOTHING),
        "checks": _checks(report, references),
        "first_non_finite": _first(report, references),
        "others": [_other(module) for module in report.others],
    }


def _checks(report: TrainingReport, references: Sequence[References]) -> list[dict[str, Any]]:
    """Return the checks of the run, each with the record that its target is in, if it is clear."""
    of_record: dict[int | None, list[CheckRow]] = {}
    for row in report.checks:
        of_record.setdefault(record_of_check(report, row), []).append(row)
    rows = []
    for index, group in of_record.items():
        if index is None:
            rows += checks(group, NOTHING)
        else:
            rows += [{**row, "record": index} for row in checks(group, references[index])]
    return rows


def record_of_check(report: TrainingReport, row: CheckRow) -> int | None:
    """Return the index of the record that a check of the run is about, None if it is not clear."""
    return record_index(report, row.target.partition(": ")[0])


def record_index(report: TrainingReport, name: str | None) -> int | None:
    """Return the index of the record with a name, or of the only one; None if there is none."""
    names = [record.training.record if record.training else "" for record in report.records]
    if name in names:
        return names.index(name)
    return 0 if len(names) == 1 else None


def _facts(report: TrainingReport) -> list[tuple[str, str]]:
    tracking = report.tracking
    facts = [("preset", escape(tracking.preset)), ("steps in detail", escape(tracking.steps))]
    if tracking.max_steps is not None:
        facts.append(("--max-steps", f"{tracking.max_steps:,}"))
    if tracking.stop_on is not None:
        facts.append(("--stop-on", escape(tracking.stop_on)))
    if tracking.world_size > 1:
        facts.append(ranks_of(report))
    if tracking.eager:
        facts.append(("compiler", "off"))
    if tracking.detached is not None:
        facts.append(("stopped observing", escape(" ".join(tracking.detached.split()))))
    return facts


def _first(report: TrainingReport, references: Sequence[References]) -> dict[str, Any] | None:
    first = report.first_non_finite
    if first is None:
        return None
    index = record_index(report, first.record)
    of_record = f" of {escape(first.record)}" if len(report.records) > 1 else ""
    return {
        "what": f"the {first.what} of step {first.step:,}{of_record}",
        "record": 0 if index is None else index,
        "step": first.step,
        "layer": -1 if index is None else references[index].layer(first.layer),
        "facts": _of_first(first),
    }


def _of_first(first: FirstNonFinite) -> list[tuple[str, str]]:
    facts = [("where", made(first))] if made(first) else []
    facts += [("input", tensor(value)) for value in first.inputs]
    if first.reason:
        facts.append(("reason", escape(" ".join(first.reason.split()))))
    if first.batch is not None:
        facts.append(("batch", escape(first.batch)))
    return facts


def _other(module: OtherModule) -> dict[str, Any]:
    return {
        "name": escape(module.name),
        "type": escape(module.type),
        "calls": module.calls,
        "parameters": module.parameters,
        "place": None if module.place is None else place(module.place),
    }
