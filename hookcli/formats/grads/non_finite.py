"""Find the first value that is not finite, in the order in which the run computed them."""

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
from hookcli.text import counted

_Moment: TypeAlias = tuple[LayerRow, Literal["enter", "exit"]]
_Calls: TypeAlias = dict[tuple[str | None, int | None], LayerRow]

_AROUND_FORWARD = {kind.name for kind in CATALOGUE.values() if kind.moment is not None}


def bad(stats: Any) -> bool:
    """Return whether statistics count a NaN or an Inf."""
    return isinstance(stats, dict) and bool(stats.get("nans") or stats.get("infs"))


def _amount(stats: dict[str, Any]) -> str:
    """Return the counts in words: 3 NaN, 1 Inf in 128 elements."""
    parts = [f"{stats[key]:,} {word}" for key, word in (("nans", "NaN"), ("infs", "Inf"))
             if isinstance(stats.get(key), int) and stats[key]]  # fmt: skip
    numel = stats.get("numel")
    total = f" in {counted(numel, 'element')}" if isinstance(numel, int) else ""
    return (", ".join(parts) or "not finite") + total


def moments(report: Report) -> list[_Moment]:
    """Return the start and end of every call, in the order of the forward."""
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
    """Return what an event observed, in which layer, and whether its output gradient is finite."""
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
    """Yield what the hooks observed, with each step's loss between its forward and backward."""
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
    """Yield what the rows of calls contain."""
    order = moments(report)
    for row, moment in order:
        part = "output" if moment == "exit" else "input"
        for leaf in row.outputs if moment == "exit" else row.inputs:
            if bad(leaf.stats):
                yield f"{part}{escape(leaf.path)} of {_layer(row)}: {_amount(leaf.stats or {})}"
    yield from (text for _, text in _losses(report))
    for row, moment in reversed(order):  # backward goes in the opposite order
        stats = row.output_grad if moment == "exit" else row.input_grad
        if stats is not None and bad(stats):
            part = "output" if moment == "exit" else "input"
            yield f"the gradient at the {part} of {_layer(row)}: {_amount(stats)}"


def _in_parameters(report: Report) -> Iterator[str]:
    """Yield parameters step by step, the last one first: backward reaches it first."""
    for step in range(max((len(row.steps) for row in report.parameters), default=0)):
        for row in reversed(report.parameters):
            grad = row.steps[step].get("grad") if step < len(row.steps) else None
            if grad is not None and bad(grad):
                number = row.steps[step].get("step", step)
                yield f"the gradient of {escape(row.name)}, step {number}: {_amount(grad)}"
    for row in reversed(report.parameters):
        if row.grad is not None and bad(row.grad):
            yield f"the gradient of {escape(row.name)}: {_amount(row.grad)}"


def first_non_finite(report: Report) -> str | None:
    """Return the first place in words; None if all observed values are finite."""
    places = chain(_in_events(report), _in_layers(report), _in_parameters(report))
    return next(places, None)
