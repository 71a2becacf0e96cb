"""Where the first value that is not finite was seen, in the order in which the run made them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import escape
from hookcli.formats.parts.text import figure, place
from hookcli.formats.trace.events import recorded
from hookcli.report.events import EventRow
from hookcli.report.report import LayerRow, Report

_Moment: TypeAlias = tuple[LayerRow, Literal["enter", "exit"]]
_Calls: TypeAlias = dict[tuple[str | None, int | None], LayerRow]

_AROUND_FORWARD = {kind.name for kind in CATALOGUE.values() if kind.moment is not None}


def bad(stats: Any) -> bool:
    """Whether statistics count a NaN or an Inf."""
    return isinstance(stats, dict) and bool(stats.get("nans") or stats.get("infs"))


def _amount(stats: dict[str, Any]) -> str:
    """3 NaN, 1 Inf of 128."""
    parts = [f"{stats[key]:,} {word}" for key, word in (("nans", "NaN"), ("infs", "Inf"))
             if isinstance(stats.get(key), int) and stats[key]]  # fmt: skip
    of = f" of {stats['numel']:,}" if isinstance(stats.get("numel"), int) else ""
    return (", ".join(parts) or "not finite") + of


def moments(report: Report) -> list[_Moment]:
    """Every call as it began and as it ended, in the order of the forward."""
    result: list[_Moment] = []
    running: list[LayerRow] = []
    for row in report.layers:
        while running and running[-1].order != row.parent:
            result.append((running.pop(), "exit"))
        result.append((row, "enter"))
        running.append(row)
    result.extend((row, "exit") for row in reversed(running))
    return result


def _layer(row: LayerRow) -> str:
    name = f"{escape(row.name)} ({escape(row.type)})" if row.name else escape(row.type)
    call = f", call {row.call}" if row.call else ""
    return f"{name}{call}" + (f", at {place(row.place)}" if row.place else "")


def _where(event: EventRow, rows: _Calls) -> str:
    """What an event saw, in which layer, and whether the layer's own backward made it."""
    name, colon, part = event.target.partition(":")
    row = rows.get((name, event.call))
    if event.kind in _AROUND_FORWARD:
        text = f"{escape(event.kind)} of {_layer(row) if row else escape(event.target)}"
    elif row is None:
        text = f"{escape(event.kind)} at {escape(event.target) or 'the run'}"
    else:
        what = escape(part) if colon else escape(event.kind)
        text = f"the gradient at {what} of {_layer(row)}"
        if part.startswith("input") and row.output_grad and not bad(row.output_grad):
            text += " (finite at its output)"
    return text


def _in_events(report: Report) -> Iterator[str]:
    """As the hooks saw it, with each step's loss between its forward and its backward."""
    rows: _Calls = {(row.name, row.call): row for row in report.layers}
    losses = list(_losses(report))
    for event in recorded(report):
        if event.phase == "backward":
            while losses and losses[0][0] <= event.step:
                yield losses.pop(0)[1]
        for leaf in event.values:
            if bad(leaf.stats):
                step = f", step {event.step}" if report.run.steps > 1 else ""
                yield f"{_where(event, rows)}{step}: {_amount(leaf.stats or {})}"


def _losses(report: Report) -> Iterator[tuple[int, str]]:
    for step, loss in enumerate(report.run.losses):
        if isinstance(loss, str):
            which = f" of step {step}" if report.run.steps > 1 else ""
            yield step, f"the loss{which} is {figure(loss)}"


def _in_layers(report: Report) -> Iterator[str]:
    """As the rows of calls have it."""
    order = moments(report)
    for row, moment in order:
        part = "output" if moment == "exit" else "input"
        for leaf in row.outputs if moment == "exit" else row.inputs:
            if bad(leaf.stats):
                yield f"{part}{escape(leaf.path)} of {_layer(row)}: {_amount(leaf.stats or {})}"
    yield from (text for _, text in _losses(report))
    for row, moment in reversed(order):  # backward takes the forward's way back
        stats = row.output_grad if moment == "exit" else row.input_grad
        if stats is not None and bad(stats):
            part = "output" if moment == "exit" else "input"
            yield f"the gradient at the {part} of {_layer(row)}: {_amount(stats)}"


def _in_parameters(report: Report) -> Iterator[str]:
    """The last parameter of the first step that has one: backward comes to it first."""
    for step in range(max((len(row.steps) for row in report.parameters), default=0)):
        for row in reversed(report.parameters):
            grad = row.steps[step].get("grad") if step < len(row.steps) else None
            if grad is not None and bad(grad):
                yield f"the gradient of {escape(row.name)}, step {step}: {_amount(grad)}"
    for row in reversed(report.parameters):
        if row.grad is not None and bad(row.grad):
            yield f"the gradient of {escape(row.name)}: {_amount(row.grad)}"


def first_non_finite(report: Report) -> str | None:
    """The first place, in words; None where all that was seen is finite."""
    places = chain(_in_events(report), _in_layers(report), _in_parameters(report))
    return next(places, None)
