"""A training as a tree: all steps of the report, one per line, then the tree of each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hookcli.formats.check import document as check
from hookcli.formats.check.merged import merged
from hookcli.formats.document.document import Block, Document, TreeBlock
from hookcli.formats.grads import tree as grads_tree
from hookcli.formats.inspect import tree as inspect_tree
from hookcli.formats.trace import tree as trace_tree
from hookcli.formats.training import details, facts
from hookcli.formats.training.document import document, steps_table, view_notes
from hookcli.formats.training.selection import shown_records
from hookcli.formats.training.steps import select_steps
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport

_BODIES: Mapping[str, Callable[[Report, View], list[str]]] = {
    "grads": grads_tree.body,
    "trace": trace_tree.body,
    "inspect": inspect_tree.body,
}


def build(report: TrainingReport, view: View) -> Document:
    """Return the document with the figures, the steps and the tree of each record."""
    if view.only_findings:
        return check.build(merged(report), view)
    records, inner = shown_records(report, view)
    blocks: list[Block] = []
    for record in records:
        rows = select_steps(facts.training_of(record), inner, every=True).rows
        body = _BODIES.get(record.command, grads_tree.body)
        blocks += [
            facts.section(record),
            steps_table(rows, inner),
            TreeBlock(body(record, details.own_view(record, inner))),
        ]
    return document(report, blocks, view_notes(records, inner, every=True))
