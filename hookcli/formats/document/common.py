"""The parts that the documents of several kinds of reports have."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.console import escape
from hookcli.formats.document import ranks
from hookcli.formats.document.document import (
    Block,
    Cause,
    Document,
    Fact,
    FactsBlock,
    Problem,
    ProblemsBlock,
    TotalsBlock,
    VerdictBlock,
)
from hookcli.formats.parts import summary
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import left_out, nothing_found, shown
from hookcli.formats.view import View
from hookcli.report.report import Report

Pairs = Sequence[tuple[str, str]]


def document(
    report: Report,
    view: View,
    rows: Sequence[Block],
    *,
    totals: Pairs,
    notes: Sequence[str],
    alarms: Pairs = (),
) -> Document:
    """Return the document of a run: `rows` are its tables or its tree.

    `alarms` are (label, text) of problems before the failed checks.
    """
    return Document(
        title(report),
        (
            facts(report),
            verdict(report),
            *rows,
            *ranks.tables(report, view),
            TotalsBlock([*totals, *ranks.totals(report)]),
            problems([*alarms, *ranks.alarms(report), *summary.failed(report)]),
        ),
        notes,
    )


def title(report: Report) -> str:
    """Return the name of the model."""
    return escape(report.model.type or report.model.source)


def facts(report: Report) -> FactsBlock:
    """Return what ran, and how."""
    pairs = summary.head(report)
    return FactsBlock([Fact(label, text, is_title=i == 0) for i, (label, text) in enumerate(pairs)])


def verdict(report: Report, good: str | None = None) -> VerdictBlock:
    """Return the verdict of a report. `good` is the line if there is no problem."""
    return VerdictBlock(
        [
            Cause(
                item.severity,
                escape(item.sentence),
                place(item.place) if item.place else "",
                escape(item.advice or ""),
            )
            for item in shown(report)
        ],
        more=left_out(report),
        good=nothing_found(report) if good is None else good,
        failure="" if report.error is None else summary.failure(report.error),
    )


def problems(pairs: Pairs) -> ProblemsBlock:
    """Return problems without details."""
    return ProblemsBlock([Problem(label, text) for label, text in pairs])
