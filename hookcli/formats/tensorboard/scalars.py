"""The scalars of a report: losses, and norms of parameters, gradients and values, by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from hookcli.console import escape
from hookcli.report.report import Report

Scalar: TypeAlias = tuple[str, int, float]
"""A tag, a step from 0, and a value, which may be NaN or infinite."""


def tag(group: str, name: str, call: int | None = 0) -> str:
    """Return the tag of a figure; TensorBoard groups tags by the part before the first slash."""
    return f"{group}/{escape(name) or '(root)'}" + (f" call {call}" if call else "")


def last_step(report: Report) -> int:
    """Return the number of the last step that has gradients; steps count from 0."""
    ends = ((row.steps[-1], len(row.steps) - 1) for row in report.parameters if row.steps)
    return max((step_of(figures, index) for figures, index in ends), default=0)


def step_of(figures: Mapping[str, Any], index: int) -> int:
    """Return the number of a step: in a training, not all steps have figures."""
    step: int = figures.get("step", index)
    return step


def first_step(report: Report) -> int:
    """Return the step in which the layers of a report ran."""
    info = report.training
    return info.sampled[0] if info is not None and info.sampled else 0


def scalars(report: Report) -> Iterator[Scalar]:
    """Yield every scalar. Figures that are not known are omitted."""
    for step, loss in enumerate(report.run.losses):
        yield from _scalar("loss", step, loss)
    last = last_step(report)
    if report.training is None:  # its steps have their own
        yield from _scalar("gradient_norm", last, report.totals.grad_norm)
    for row in report.parameters:
        steps = row.steps or ({"grad": row.grad},)
        for index, figures in enumerate(steps):
            step = step_of(figures, index)
            yield from _scalar(tag("gradient_norm", row.name), step, _norm(figures.get("grad")))
        yield from _scalar(tag("weight_norm", row.name), last, _norm(row.stats))
        yield from _scalar(tag("gradient_to_weight", row.name), last, row.grad_to_weight)
    yield from _of_layers(report)
    yield from _of_events(report)


def _of_layers(report: Report) -> Iterator[Scalar]:
    """Yield the norms at each call of a layer, in the first step."""
    first = first_step(report)
    for row in report.layers:
        name = f"({row.type})" if row.name is None else row.name
        for group, figures in (
            ("output_norm", row.stats),
            ("output_gradient_norm", row.output_grad),
            ("input_gradient_norm", row.input_grad),
        ):
            yield from _scalar(tag(group, name, row.call), first, _norm(figures))


def _of_events(report: Report) -> Iterator[Scalar]:
    """Yield the norms of the values that hooks saw, in every step, by kind and target."""
    if not isinstance(report.events, tuple):  # they were streamed to a file
        return
    for event in report.events:
        for value in event.values:
            name = f"{event.target}{value.path}"
            rank = f" rank {event.rank}" if event.rank else ""
            yield from _scalar(
                tag(f"event {event.kind}", name, event.call) + rank, event.step, _norm(value.stats)
            )


def _norm(figures: Mapping[str, Any] | None) -> Any:
    return None if figures is None else figures.get("norm")


def _scalar(name: str, step: int, value: float | str | None) -> Iterator[Scalar]:
    """Yield a value if it is known; in a report NaN and infinities are strings."""
    if value is not None:
        yield name, step, float(value)


_STEPS = {
    "loss": "loss",
    "mean_loss": "mean_loss",  # of all ranks
    "gradient_norm": "grad_norm",
    "learning_rate": "lr",
    "update_ratio": "update_ratio",
    "weight_norm": "weight_norm",
    "scale": "scale",
}


def training_scalars(record: Report) -> Iterator[Scalar]:
    """Yield the scalars of a record of a training: those of its steps, then of its tensors."""
    info = record.training
    if info is not None:
        for row in info.steps:
            for group, field in _STEPS.items():
                yield from _scalar(group, row.step, getattr(row, field))
        for update in info.updates:
            for step, ratio in zip(info.sampled, update.ratios, strict=False):
                yield from _scalar(tag("update_ratio", update.name), step, ratio)
    yield from scalars(record)
