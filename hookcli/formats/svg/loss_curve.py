"""The loss by step as a line; steps whose loss is not finite have a mark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hookcli.formats.order import measured
from hookcli.formats.parts.text import figure
from hookcli.formats.svg.drawing import MARGIN, SMALL, Drawing, number, text_width

_HEIGHT = 84
_POINTS = 400  # of the line; each stands for the lowest and highest loss of its steps
_LOG_FROM = 100  # times that the highest loss is larger than the lowest: then the scale is a log


def draw(drawing: Drawing, losses: Sequence[tuple[int, object]], width: float, top: float) -> float:
    """Draw (step, loss) pairs across a picture; return the bottom, `top` if no loss is known."""
    values = [(step, value) for step, loss in losses if (value := measured(loss)) is not None]
    finite = [(step, value) for step, value in values if math.isfinite(value)]
    if len(values) <= 1 or not finite:
        return top
    low, high = min(v for _, v in finite), max(v for _, v in finite)
    log = low > 0 and high / low > _LOG_FROM
    labels = figure(high), figure(low)
    left = MARGIN + max(text_width(label, SMALL) for label in labels) + 10
    right, bottom = width - MARGIN, top + 20 + _HEIGHT
    first, last = values[0][0], values[-1][0]

    def x(step: int) -> float:
        return left + (step - first) / max(last - first, 1) * (right - left)

    def y(value: float) -> float:
        a, b, c = (math.log(v) if log else v / 2 for v in (low, value, high))
        return bottom - ((b - a) / (c - a) if c > a else 0.5) * _HEIGHT

    drawing.text(left, top + 8, f"loss{', log scale' if log else ''}", "small muted")
    for label, at in zip(labels, (bottom - _HEIGHT, bottom), strict=True):
        drawing.line(left, at, right, at, "grid")
        if label != labels[0] or at < bottom:
            drawing.text(left - 8, at + 4, label, "mono small muted", anchor="end")
    for part in _parts(values):
        points = "L".join(f"{number(x(step))} {number(y(v))}" for step, v in _thinned(part))
        drawing.path(f"M{points}{'h0.1' if len(part) == 1 else ''}", "curve")
    marks = [step for step, value in values if not math.isfinite(value)]
    for step in marks[:: math.ceil(len(marks) / _POINTS) or 1]:
        drawing.path(f"M{number(x(step) - 3)} {number(bottom - 6)}l6 6m0 -6l-6 6", "cross")
    drawing.text(left, bottom + 15, f"{first:,}", "mono small muted")
    drawing.text(right, bottom + 15, f"{last:,}", "mono small muted", anchor="end")
    note = ": × marks losses that are not finite" if marks else ""
    drawing.text((left + right) / 2, bottom + 15, f"step{note}", "small muted", anchor="middle")
    return bottom + 34


def _parts(values: Sequence[tuple[int, float]]) -> list[list[tuple[int, float]]]:
    """Return the runs of finite values: the line is broken where a loss is not finite."""
    parts: list[list[tuple[int, float]]] = [[]]
    for step, value in values:
        if math.isfinite(value):
            parts[-1].append((step, value))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _thinned(part: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the lowest and the highest value of each group of neighbours, in their order."""
    size = math.ceil(len(part) / _POINTS)
    if size <= 1:
        return list(part)
    thin: list[tuple[int, float]] = []
    for i in range(0, len(part), size):
        group = part[i : i + size]
        low, high = min(group, key=lambda p: p[1]), max(group, key=lambda p: p[1])
        thin += sorted({low, high})
    return thin
