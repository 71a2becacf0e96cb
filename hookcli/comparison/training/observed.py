"""The figures of a record by step, and the order in which backward computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hookcli.comparison.tolerance import coarser
from hookcli.report.events import EventRow, Streamed
from hookcli.report.path_ends.end_rows import backward_order
from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.rows.events import number
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.values import Leaf, Number

EventKey: TypeAlias = tuple[str, str, str, str, int]  # phase, kind, target, path, occurrence
Rank: TypeAlias = tuple[int, int, int]  # in the order of backward
_PARTS = {"output": 0, "input": 2}


@dataclass(frozen=True, slots=True)
class Observed:
    """A record, indexed by step.

    `notes` are the figures of parameters in sampled steps, by step and name; `ratios` their update
    ratios. `layers` are those of the step `layers_step`.
    """

    report: Report
    info: TrainingInfo
    steps: dict[int, StepRow]
    parameters: dict[str, ParameterRow]
    notes: dict[int, dict[str, Mapping[str, Any]]]
    ratios: dict[int, dict[str, Number]]
    events: dict[int, list[EventRow]]
    layers_step: int | None

    @property
    def record(self) -> str:
        """The name of the record."""
        return self.info.record


def ran_alike(a: Observed, b: Observed) -> bool:
    """Return whether both trainings ran on as many ranks, so that their layers have the same part.

    Else only figures of whole parameters, and the loss of all ranks, are those of one training.
    """
    ours, theirs = a.info.joined, b.info.joined
    return (ours is None and theirs is None) or (
        ours is not None and theirs is not None and ours.ranks == theirs.ranks
    )


def loss_of(row: StepRow) -> Number | None:
    """Return the loss of a step: the mean over all ranks if they have different losses."""
    return row.loss if row.mean_loss is None else row.mean_loss


def largest_rate(row: StepRow) -> Number | None:
    """Return the largest learning rate of all groups of the optimizer in a step."""
    return row.lr if row.largest_lr is None else row.largest_lr


def observe(report: Report) -> Observed:
    """Index a record.

    Raises
    ------
    ValueError : the report is not a record of a training.
    """
    info = report.training
    if info is None:
        raise ValueError("the report is not a record of a training")
    notes: dict[int, dict[str, Mapping[str, Any]]] = {}
    parts = {row.name for row in report.parameters if row.whole is False}
    for parameter in report.parameters:
        if parameter.name in parts:
            continue  # its figures are those of one rank
        for note in _notes(parameter, info):
            notes.setdefault(note["step"], {})[parameter.name] = note
    ratios: dict[int, dict[str, Number]] = {}
    for update in info.updates:
        if update.name in parts:
            continue
        for step, ratio in zip(info.sampled, update.ratios, strict=False):
            if ratio is not None:
                ratios.setdefault(step, {})[update.name] = ratio
    events: dict[int, list[EventRow]] = {}
    if not isinstance(report.events, Streamed):
        for event in report.events:
            events.setdefault(event.step, []).append(event)
    return Observed(
        report=report,
        info=info,
        steps={row.step: row for row in info.steps},
        parameters={row.name: row for row in report.parameters},
        notes=notes,
        ratios=ratios,
        events=events,
        layers_step=min(info.sampled, default=None) if report.layers else None,
    )


def shifted(observed: Observed, offset: int) -> Observed:
    """Return a record that goes on from another one, with the step numbers of that one."""
    sampled = tuple(step + offset for step in observed.info.sampled)
    layers = observed.layers_step
    return replace(
        observed,
        info=replace(observed.info, sampled=sampled),
        steps={step + offset: row for step, row in observed.steps.items()},
        notes={step + offset: note for step, note in observed.notes.items()},
        ratios={step + offset: ratio for step, ratio in observed.ratios.items()},
        events={step + offset: events for step, events in observed.events.items()},
        layers_step=None if layers is None else layers + offset,
    )


def _notes(parameter: ParameterRow, info: TrainingInfo) -> tuple[Mapping[str, Any], ...]:
    """Return the figures of a parameter by step; with one sampled step, they are in its row."""
    if parameter.steps or len(info.sampled) != 1 or parameter.status is None:
        return tuple(note for note in parameter.steps if isinstance(note.get("step"), int))
    return ({"step": info.sampled[0], "grad": parameter.grad, "status": parameter.status},)


def norm_of(stats: object) -> Number | None:
    """Return the norm among statistics; None if it is not known."""
    norm: Number | None = stats.get("norm") if isinstance(stats, Mapping) else None
    return norm


def unscaled(norm: Number | None, scale: Number | None) -> Number | None:
    """Return the norm of a gradient in backward without the factor of a GradScaler."""
    if isinstance(norm, int | float) and isinstance(scale, int | float) and scale > 0:
        return number(norm / scale)
    return norm


def computed_in(report: Report) -> dict[str, str | None]:
    """Return the coarsest dtype of the outputs of each layer, by its name."""
    found: dict[str, str | None] = {}
    for row in report.layers:
        for leaf in row.outputs if row.name is not None else ():
            found[row.name or ""] = coarser(found.get(row.name or ""), leaf.dtype)
    return found


def gradient_of(note: Mapping[str, Any]) -> Number | str | None:
    """Return the norm of a gradient, or "none" or "frozen" if the parameter has none."""
    status = note.get("status")
    return status if status in {"none", "frozen"} else norm_of(note.get("grad"))


def weight_of(note: Mapping[str, Any]) -> Number | None:
    """Return the norm of a parameter before the step, if it was measured."""
    return norm_of(note.get("weight"))


def event_values(events: list[EventRow]) -> Iterator[tuple[EventKey, EventRow, Leaf]]:
    """Yield each tensor of the events of a step, with a key that is unique in the step."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for event in events:
        for leaf in event.values:
            key = (event.phase, event.kind, event.target, leaf.path)
            yield (*key, seen[key]), event, leaf
            seen[key] += 1


class BackwardRanks:
    """Ranks figures in the order in which backward computes them, the nearest to the loss first."""

    def __init__(self, report: Report) -> None:
        self._orders: dict[str, int] = {}
        for row in report.layers:
            if not row.recomputed and row.name is not None:
                for name in (row.name, *row.aliases):
                    self._orders[name] = row.order
        self._parameters: dict[str, Rank] = {}
        self._calls: dict[str, LayerRow] = {}
        for i, (parameter, call) in enumerate(backward_order(report)):
            self._parameters[parameter.name] = (1 if call is None else -call.order, 1, i)
            if call is not None:
                self._calls[parameter.name] = call

    def parameter(self, name: str) -> Rank:
        """Return the rank of a parameter's gradient."""
        return self._parameters[name]

    def layer(self, name: str) -> Rank:
        """Return the rank of the gradient of a layer's output: before those of its parameters."""
        return -self._order(name), 0, 0

    def target(self, target: str, seq: int) -> Rank:
        """Return the rank of an event in backward, by the target of its hook."""
        name, _, part = target.rpartition(":")
        if target in self._parameters:
            order, _, index = self._parameters[target]
            return order, 1, index
        return -self._order(name or target), _PARTS.get(part.partition("[")[0], 1), seq

    def call(self, parameter: str) -> LayerRow | None:
        """Return the call of a parameter's layer."""
        return self._calls.get(parameter)

    def _order(self, name: str) -> int:
        while name and name not in self._orders:
            name = name.rpartition(".")[0]
        return self._orders.get(name, -1)
