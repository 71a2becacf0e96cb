"""A report in short, as Markdown for the summary of a CI step, whose size is limited."""

from __future__ import annotations

import dataclasses

from hookcli.formats.check import rows as check_rows
from hookcli.formats.check.document import last_line, outcomes
from hookcli.formats.ci.gradient_extremes import gradient_table
from hookcli.formats.document import common
from hookcli.formats.document.document import Block, Document, SectionBlock, VerdictBlock
from hookcli.formats.document.markdown import page
from hookcli.formats.parts import summary
from hookcli.formats.training import facts, findings
from hookcli.formats.training.selection import shown_checks
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.text import pluralize, shorten

_MOST = 50  # findings, and as many other rows
_LONGEST = 1000  # characters of a target or message
_MOST_RECORDS = 20
_MOST_TABLES = 3  # records with a table of gradients
_LIMIT = 1_000_000  # bytes: GitHub refuses summaries of more than a mebibyte


def brief(result: Report | TrainingReport, view: View) -> str:
    """Return the worst rows of a check; of a training also the figures of its records."""
    document = _check(*shown_checks(result, view))
    if isinstance(result, TrainingReport):
        blocks = (*document.blocks, *_records(result))
        document = document._replace(blocks=blocks)
    text = page(document, view)
    if len(text.encode()) <= _LIMIT:
        return text
    verdict = [block for block in document.blocks if isinstance(block, VerdictBlock)]
    return page(document._replace(blocks=verdict), view)[:_LONGEST]


def _check(report: Report, view: View) -> Document:
    rows = [_cut(row) for row in check_rows.select_rows(report, view)]
    failed = [row for row in rows if check_rows.is_finding(row)]
    quiet = [row for row in rows if not check_rows.is_finding(row)]
    left = len(failed[_MOST:])
    more = f"{left:,} more {pluralize(left, 'finding is', 'findings are')} in the log."
    return Document(
        common.title(report),
        (
            common.verdict(report),
            outcomes(failed[:_MOST], more=more if left else ""),
            *gradient_table(report),
            outcomes(quiet[:_MOST]),
        ),
        summary.run_notes(report),
        last_line(report, view),
    )


def _cut(row: CheckRow) -> CheckRow:
    target, message = (shorten(text, _LONGEST) for text in (row.target, row.message))
    return dataclasses.replace(row, target=target, message=message)


def _records(report: TrainingReport) -> list[Block]:
    """Return an item for each record, the tables of gradients, and the first non-finite value."""
    records, tables = report.records[:_MOST_RECORDS], report.records[:_MOST_TABLES]
    blocks: list[Block] = [facts.section(record)._replace(has_heading=False) for record in records]
    for record in tables:
        if found := gradient_table(record):
            several = len(report.records) > 1
            blocks += [SectionBlock(facts.title(record), ())] if several else []
            blocks += found
    return [*blocks, findings.problems(report)]
