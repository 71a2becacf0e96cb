"""Where the first value that is not finite was seen, in the order in which the run made them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from hookcli.console import escape
from hookcli.formats.text import figure, place
from hookcli.formats.trace_rows import recorded
from hookcli.report.model import LayerRow, Report

_Moment: TypeAlias = tuple[LayerRow, Literal["enter", "exit"]]


def bad(stats: Any) -> bool:
    """Whether statistics count a NaN or an Inf."""
    return isinstance(stats, dict) and bool(stats.get("nans") or stats.get("infs"))


def _amount(stats: dict[str, Any]) -> str:
    """3 NaN, 1 Inf of 128."""
    found = [f"{stats[key]:,} {word}" for key, word in (("nans", "NaN"), ("infs", "Inf"))
             if isinstance(stats.get(key), int) and stats[key]]  # fmt: skip
    of = f" of {stats['numel']:,}" if isinstance(stats.get("numel"), int) else ""
    return (", ".join(found) or "not finite") + of


def moments(report: Report) -> list[_Moment]:
    """Every call as it began and as it ended, in the order of the forward."""
    found: list[_Moment] = []
    running: list[LayerRow] = []
    for row in report.layers:
        while running and running[-1].order != row.parent:
            found.append((running.pop(), "exit"))
        found.append((row, "enter"))
        running.append(row)
    found.extend((row, "exit") for row in reversed(running))
    return found


def _layer(row: LayerRow) -> str:
    name = f"{escape(row.name)} ({escape(row.type)})" if row.name else escape(row.type)
    call = f", call {row.call}" if row.call else ""
    return f"{name}{call}" + (f", at {place(row.place)}" if row.place else "")


def _candidates(report: Report) -> Iterator[str]:
    """Each place that is not finite, the earliest first."""
    for event in recorded(report):
        for leaf in event.values:
            if bad(leaf.stats):
                where = escape(event.target) or "the model"
                yield f"{escape(event.kind)} at {where}: {_amount(leaf.stats or {})}"
    order = moments(report)
    for row, moment in order:
        for leaf in row.outputs if moment == "exit" else row.inputs:
            if bad(leaf.stats):
                part = "output" if moment == "exit" else "input"
                yield f"{part}{escape(leaf.path)} of {_layer(row)}: {_amount(leaf.stats or {})}"
    for step, loss in enumerate(report.run.losses):
        if isinstance(loss, str):
            yield f"the loss of step {step}: {figure(loss)}"
    for row, moment in reversed(order):  # backward takes the forward's way back
        stats = row.output_grad if moment == "exit" else row.input_grad
        if stats is not None and bad(stats):
            part = "output" if moment == "exit" else "input"
            yield f"the gradient at the {part} of {_layer(row)}: {_amount(stats)}"
    for parameter in reversed(report.parameters):
        if parameter.grad is not None and bad(parameter.grad):
            yield f"the gradient of {escape(parameter.name)}: {_amount(parameter.grad)}"


def first_non_finite(report: Report) -> str | None:
    """The first place, in words; None where all that was seen is finite."""
    return next(_candidates(report), None)
