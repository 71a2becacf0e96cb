"""The report of grads: a table with one row per parameter, then one with a row per call."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping

from hookcli.console import escape
from hookcli.formats.document import common
from hookcli.formats.document.document import Document, TableBlock
from hookcli.formats.grads import flow as grads_flow, parameters as grads_rows, samples
from hookcli.formats.grads.non_finite import first_non_finite
from hookcli.formats.names import GRADS_COLUMNS, SHARED_COLUMNS
from hookcli.formats.order import Ordered, notes as order_notes
from hookcli.formats.parts import summary
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.text import figure
from hookcli.formats.view import View
from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.text import join_names

_COUNTED = {
    "ok": "ok",
    "none": "none (the loss does not reach them)",
    "zero": "zero",
    "non_finite": "non-finite",
    "frozen": "frozen",
}
_MOST = 8  # shared parameters named in a note


def parameters(report: Report, view: View) -> Ordered[ParameterRow]:
    """Return the rows of the first table; none if all chosen columns are in the second."""
    chosen = set(view.asked or GRADS_COLUMNS)
    if chosen & (GRADS_COLUMNS.keys() - SHARED_COLUMNS) or chosen <= SHARED_COLUMNS:
        return grads_rows.select_rows(report, view)
    return Ordered([])


def totals(report: Report) -> list[tuple[str, str]]:
    """Return the norm over all parameters, the counts of statuses, and the totals of any report."""
    lines = []
    if report.totals.grad_norm is not None:
        lines.append(("Gradient norm", figure(report.totals.grad_norm)))
    counts = Counter[str](row.status for row in report.parameters if row.status is not None)
    if counts:
        words = [f"{counts[name]} {word}" for name, word in _COUNTED.items() if counts[name]]
        lines.append(("Gradients", ", ".join(words)))
    return lines + samples.totals(report) + summary.totals(report)


def alarms(report: Report) -> list[tuple[str, str]]:
    """Return a line about the first value that is not finite, unless the verdict has one."""
    if any("finite" in diagnosis.rules for diagnosis in report.diagnoses or ()):
        return []
    first = first_non_finite(report)
    return [] if first is None else [("first non-finite", first)]


def _apart(name: str, other: str) -> tuple[str, str]:
    """Return two names without their common last parts, but with at least one part each."""
    ours, theirs = name.split("."), other.split(".")
    most = min(len(ours), len(theirs)) - 1
    pairs = zip(reversed(ours), reversed(theirs), strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    common = min(same, most)
    return ".".join(ours[: len(ours) - common]), ".".join(theirs[: len(theirs) - common])


def shared_names(report: Report) -> list[str]:
    """Return `a.weight = b.weight` per shared parameter, or `a.* = b.* ×8` per shared module."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in report.parameters:
        for alias in row.shared_with:
            text = f"{escape(row.name)} = {escape(alias)}"
            groups.setdefault(_apart(row.name, alias), []).append(text)
    return [
        texts[0] if len(texts) == 1 else f"{escape(name)}.* = {escape(other)}.* ×{len(texts)}"
        for (name, other), texts in groups.items()
    ]


def notes(
    report: Report,
    view: View,
    order: Ordered[ParameterRow],
    flow: Ordered[LayerRow],
) -> list[str]:
    """Return the notes below the tables."""
    more = []
    if view.only is not None and not (order.rows or flow.rows):
        more.append(summary.no_match("name", "--only", view.only))
    elif order.rows:
        more += summary.hidden_rows(len(order.rows), len(report.parameters), "parameter")
    ran = report.error is None or report.error.phase not in {"forward", "loss"}
    if all(row.status is None for row in report.parameters) and (report.parameters or not ran):
        more.append("no backward pass ran, so no parameter has a gradient")
    elif report.error is not None:
        more.append(
            "the backward pass stopped early: only the gradients computed until then are shown"
        )
    if grads_rows.steps_of(report.parameters) and view.asked is None:
        more.append("the Step columns show norms of gradients; the others show the last step")
        steps = grads_rows.steps_of(report.parameters)
        more += summary.hidden_rows(len(grads_rows.shown_steps(report.parameters)), steps, "step")
    pairs = shared_names(report)
    if pairs:
        more.append(f"shared parameters, shown and counted once: {join_names(pairs, _MOST)}")
    more += order_notes(view.sort, order, flow)
    more += grads_flow.unmeasured(flow.rows, view)
    more += samples.notes(report)
    return summary.run_notes(report, [*more, *summary.neutral(report)])


def parameters_table(
    columns: Mapping[str, Column[ParameterRow]], rows: list[ParameterRow], view: View
) -> TableBlock[ParameterRow]:
    """Return the first table."""
    give_way = grads_rows.give_way(rows, view)
    return TableBlock(columns, rows, "parameter", give_way=give_way, selectable=True)


def flow_table(rows: list[LayerRow], view: View) -> TableBlock[LayerRow]:
    """Return the second table."""
    give_way = grads_flow.GIVE_WAY if view.asked is None else ()
    columns = grads_flow.columns(rows, view)
    return TableBlock(columns, rows, "call", give_way=give_way, selectable=True)


def build(report: Report, view: View) -> Document:
    """Return the document with both tables."""
    order, flow = parameters(report, view), grads_flow.select_rows(report, view)
    return common.document(
        report,
        view,
        [
            parameters_table(grads_rows.columns(order.rows, view), order.rows, view),
            flow_table(flow.rows, view),
            *samples.tables(report),
        ],
        totals=totals(report),
        notes=notes(report, view, order, flow),
        alarms=alarms(report),
    )
