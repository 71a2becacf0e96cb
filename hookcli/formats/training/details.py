"""The tables below the steps of a record: those of the preset that observed it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from hookcli.console import escape
from hookcli.formats.document.document import TableBlock
from hookcli.formats.grads import document as grads, flow as grads_flow, parameters as grads_rows
from hookcli.formats.inspect import document as inspect
from hookcli.formats.names import FLOW, TRAINED, columns_of, sorts_of
from hookcli.formats.order import Ordered, ordered, sort_key
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.summary import hidden_rows
from hookcli.formats.parts.text import figure
from hookcli.formats.trace import document as trace, events as trace_rows
from hookcli.formats.training.facts import training_of
from hookcli.formats.training.joined import placed
from hookcli.formats.view import View
from hookcli.report.events import EventRow, Streamed
from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.values import Number
from hookcli.text import counted

_STEPS = 4  # that have a column with norms of gradients


def tables(record: Report, view: View) -> list[TableBlock[Any]]:
    """Return the tables."""
    if record.command in {"trace", "inspect"}:
        own = own_view(record, view)
        if not has_columns(record, view):
            return []
        if record.command == "inspect":
            return [inspect.table(record, own)] if record.layers else []
        return [trace.table(record, own, events(record, own))]
    order, flow = parameters(record, view), layers(record, view)
    return [
        grads.parameters_table(parameter_columns(record, order.rows, view), order.rows, view),
        grads.flow_table(flow.rows, view),
    ]


def events(record: Report, view: View) -> list[EventRow]:
    """Return the events of the view in its first step: a training has thousands."""
    rows = trace_rows.ordered_events(record, view).rows
    if view.sort is not None:
        return rows
    first = min((row.step for row in rows), default=0)
    return [row for row in rows if row.step == first]


def own_view(record: Report, view: View) -> View:
    """Return the view with the columns and the sort key that the record's preset has."""
    known = columns_of(record.command)
    sort = view.sort if sort_key(view.sort or "") in sorts_of(record.command) else None
    if view.asked is None:
        return dataclasses.replace(view, sort=sort)
    columns = tuple(name for name in view.asked if name in known)
    return dataclasses.replace(view, columns=columns, sort=sort)


def has_columns(record: Report, view: View) -> bool:
    """Return whether the view has a column of the record's preset."""
    return view.asked is None or any(name in columns_of(record.command) for name in view.asked)


def parameters(record: Report, view: View) -> Ordered[ParameterRow]:
    """Return the parameters of the view; none if it has no column of them."""
    if view.asked is not None and not any(name in TRAINED for name in view.asked):
        return Ordered([])
    order = grads_rows.select_rows(record, view)
    if sort_key(view.sort or "") != "update":
        return order
    ratios = _ratios(record)
    return ordered(order.rows, view.sort or "", lambda row: ratios.get(row.name))


def layers(record: Report, view: View) -> Ordered[LayerRow]:
    """Return the calls with gradients; none if no column of them was chosen."""
    if view.asked is not None and not any(
        name in FLOW and name not in TRAINED for name in view.asked
    ):
        return Ordered([])
    return grads_flow.select_rows(record, view)


def _ratios(record: Report) -> dict[str, Number | None]:
    """Return the update ratio of each parameter in the last sampled step."""
    return {row.name: row.ratios[-1] for row in training_of(record).updates if row.ratios}


def _ratio(row: ParameterRow, ratios: Mapping[str, Number | None]) -> str:
    return figure(ratios.get(row.name))


def parameter_columns(
    record: Report, rows: list[ParameterRow], view: View
) -> dict[str, Column[ParameterRow]]:
    """Return the columns of the parameters: those of `grads`, and the update ratio."""
    ratios = _ratios(record)
    update = Column(TRAINED["update"].title, partial(_ratio, ratios=ratios), right=True)
    known = grads_rows.columns(rows, view, steps=_STEPS)
    if "status" in known:
        status = partial(grads_rows.status, most=1)
        known["status"] = dataclasses.replace(known["status"], text=status, fit=status)
    if view.asked is not None:
        where: Column[ParameterRow] = Column(
            TRAINED["placements"].title, lambda row: placed(row) or "–", least=16
        )
        both = {**known, "update": update, "placements": where}
        return {name: both[name] for name in view.asked if name in both}
    if not ratios:
        return known
    shown: dict[str, Column[ParameterRow]] = {}
    for name, column in known.items():
        shown |= {"update": update} if name == "status" else {}
        shown[name] = column
    return shown


def step_notes(record: Report, view: View) -> list[str]:
    """Return notes about the steps to which the tables of parameters and calls belong."""
    sampled = training_of(record).sampled
    if record.command != "grads" or len(sampled) < 2:
        return []
    lines = []
    if view.asked is None and grads_rows.steps_of(record.parameters):
        lines.append("the Step columns show norms of gradients; the others show the last step")
    if layers(record, view).rows:
        scale = next((row.scale for row in training_of(record).steps if row.sampled), None)
        factor = ""
        if scale not in {None, 1.0}:
            factor = f", where gradients have the loss scale {figure(scale)}"
        lines.append(f"the table of layers shows step {sampled[0]:,}{factor}")
    return lines


def event_notes(record: Report, view: View, *, every: bool) -> list[str]:
    """Return notes about events that are in a file, or that no table shows; `every`: all are."""
    if isinstance(record.events, Streamed):
        return [f"{counted(record.events.count, 'event')} in {escape(record.events.file)}"]
    if record.command == "trace":
        if every or not has_columns(record, view):
            return []
        own = own_view(record, view)
        return hidden_rows(len(events(record, own)), len(record.events), "event")
    counts = Counter(event.kind for event in record.events)
    kinds = ", ".join(f"{escape(kind)} {number:,}" for kind, number in counts.items())
    noun = counted(len(record.events), "event")
    return [f"{noun} of hooks, in `-f json`: {kinds}"] if every and record.events else []
