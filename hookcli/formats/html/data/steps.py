"""The steps of a training, and what its optimizer did: what a record has in addition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.columns import rounded
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import figure
from hookcli.formats.training.facts import figures, problems, title
from hookcli.report.report import Report
from hookcli.report.steps import StepRow, TrainingInfo

_FIGURES = ("loss", "grad_norm", "lr", "update_ratio", "update_norm", "weight_norm", "scale")
_COUNTS = ("forwards", "backwards", "missing", "zero", "non_finite")


def training(report: Report, references: References) -> dict[str, Any] | None:
    """Return the steps of a record, None if the report is not one of a training.

    `steps` has columns; a column without any value is None. `updates` has the row of each
    parameter, its ratios in the sampled steps, and a word if its values did not change.
    """
    info = report.training
    if info is None:
        return None
    return {
        "title": title(report),
        "summary": [*figures(report), *problems(report)],
        "unit": info.unit,
        "total": info.total,
        "sampled": list(info.sampled),
        "facts": _facts(info),
        "unheld": [[escape(name), references.of(name).parameter] for name in info.unheld],
        "steps": _steps(info.steps),
        "updates": _updates(info, references),
    }


def _steps(rows: Sequence[StepRow]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {"step": [row.step for row in rows]}
    for name in _FIGURES:
        columns[name] = [rounded(getattr(row, name)) for row in rows]
    for name in _COUNTS:
        columns[name] = [getattr(row, name) for row in rows]
    columns["sampled"] = [int(row.sampled) for row in rows]
    columns["skipped"] = [int(row.skipped or 0) for row in rows]
    return {
        name: None if all(value is None for value in values) else values
        for name, values in columns.items()
    }


def _updates(info: TrainingInfo, references: References) -> list[list[Any]]:
    return [
        [
            escape(row.name),
            references.of(row.name).parameter,
            [rounded(ratio) for ratio in row.ratios],
            "restored" if row.restored else "unchanged" if row.changed is False else "",
        ]
        for row in info.updates
    ]


def _facts(info: TrainingInfo) -> list[tuple[str, str]]:
    """Return labels and texts about the root, its optimizer and what was seen of them."""
    facts = [("root", escape(f"{info.root} ({info.root_type})"))]
    if info.wrappers:
        facts.append(("wrapped in", escape(", ".join(info.wrappers))))
    facts += _of_optimizer(info)
    facts.append(("calls", "not known" if info.calls is None else f"{info.calls:,}"))
    counts = (("evaluations", info.evaluations), ("calls without graph", info.graphless))
    facts += [(label, f"{count:,}") for label, count in counts if count]
    if info.every > 1:
        facts.append(("steps in this page", f"one in {info.every:,}, and those in detail"))
    lists = (
        ("compiled", info.compiled),
        ("in eval mode", info.eval_modules),
        ("in turns with", info.together or ()),
    )
    facts += [(label, escape(", ".join(names))) for label, names in lists if names]
    return facts


def _of_optimizer(info: TrainingInfo) -> list[tuple[str, str]]:
    optimizer = info.optimizer
    if optimizer is None:
        return [("optimizer", "none")]
    merged = f", {optimizer.merged:,} counted as one" if optimizer.merged > 1 else ""
    groups = f", {optimizer.groups:,} groups" if optimizer.groups > 1 else ""
    facts = [
        ("optimizer", escape(optimizer.type) + merged),
        ("parameters held", f"{optimizer.parameters:,}{groups}"),
    ]
    if optimizer.elsewhere:
        facts.append(("held, of other modules", f"{optimizer.elsewhere:,}"))
    options = [
        f"{escape(key)}={str(value).lower() if isinstance(value, bool) else figure(value)}"
        for key, value in optimizer.options.items()
    ]
    if options:
        facts.append(("options", ", ".join(options)))
    return facts
