"""A training as Markdown, and a short form of it for the summary of a CI step."""

from __future__ import annotations

from collections.abc import Sequence

from hookcli.formats import markdown
from hookcli.formats.check.gradient_extremes import gradient_table
from hookcli.formats.check.markdown import brief as brief_checks
from hookcli.formats.check.merged import merged
from hookcli.formats.grads import flow as grads_flow
from hookcli.formats.markdown import grid
from hookcli.formats.run import details, facts, findings, table
from hookcli.formats.run.selection import shown_checks, shown_records
from hookcli.formats.run.steps import columns, select_steps
from hookcli.formats.trace import events as trace_rows
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport

_MOST = 20  # records in a summary
_MOST_TABLES = 3  # of them with a table of gradients


def render(report: TrainingReport, view: View) -> str:
    """Render a heading, the verdict, the records with their tables, the findings and the notes."""
    records, inner = shown_records(report, view)
    parts = [
        f"### {quote(facts.command_line(report.script))}",
        "\n".join(f"- {label}: {quote(text)}" for label, text in table.head(report)),
        markdown.verdict(merged(report)),
    ]
    for record in records:
        parts += _record(record, inner)
    parts += [
        _listed(findings.first_non_finite(report)),
        _listed(table.failed(report)),
        "\n".join(
            f"- {quote(note)}"
            for note in (*findings.notes(report), *table.view_notes(records, inner))
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def brief(report: TrainingReport, view: View) -> str:
    """Render the checks, a line for each record and its gradients, for the summary of a CI step."""
    lines = [_line(record) for record in report.records[:_MOST]]
    parts = [brief_checks(*shown_checks(report, view)).rstrip("\n"), "\n".join(lines)]
    for record in report.records[:_MOST_TABLES]:
        if table := gradient_table(record):
            several = len(report.records) > 1
            parts += [f"#### {quote(facts.title(record))}"] if several else []
            parts.append(table)
    return "\n\n".join(
        part for part in (*parts, _listed(findings.first_non_finite(report))) if part
    )


def _line(record: Report) -> str:
    """Return the figures of a record as an item of a list, with its problems below."""
    text = f"- **{quote(facts.title(record))}**: {quote(', '.join(facts.figures(record)))}"
    return "\n".join([text, *(f"  - {quote(problem)}" for problem in facts.problems(record))])


def _listed(lines: Sequence[tuple[str, str]]) -> str:
    """Return (label, text) lines as a list; details of the first non-finite value are below it."""
    return "\n".join(
        f"  - {label}: {quote(text)}"
        if label in findings.DETAILS
        else f"- **{label}**: {quote(text)}"
        for label, text in lines
    )


def _record(record: Report, view: View) -> list[str]:
    """Return the parts of a record: its figures, its steps, and the tables of its preset."""
    rows = select_steps(facts.training_of(record), view).rows
    problems = [f"- {quote(problem)}" for problem in facts.problems(record)]
    return [
        f"#### {quote(facts.title(record))}",
        quote(", ".join(facts.figures(record))),
        "\n".join(problems),
        grid(columns(rows, view), rows),
        *_tables(record, view),
    ]


def _tables(record: Report, view: View) -> list[str]:
    if record.command in {"trace", "inspect"}:
        own = details.own_view(record, view)
        if not details.has_columns(record, view):
            return []
        if record.command == "inspect":
            return [markdown.layers(record, own)]
        events = details.events(record, own)
        return [grid(trace_rows.columns(record, own, events), events)]
    order, flow = details.parameters(record, view), details.layers(record, view)
    return [
        grid(details.parameter_columns(record, order.rows, view), order.rows),
        grid(grads_flow.columns(flow.rows, view), flow.rows),
    ]
