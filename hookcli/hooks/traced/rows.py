"""The rows of a report for layers whose figures compiled code wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hookcli.catalogue.kinds import OUTPUT_GRADIENTS, OUTPUTS
from hookcli.hooks.traced.layers import TracedFigures
from hookcli.models.nested import dtype_name
from hookcli.report.recording import CallNote, EventNote, LeafNote, Recording
from hookcli.report.report import LayerRow
from hookcli.spec.hooks import HookSpec
from hookcli.text import counted

_MEAN = "mean of "  # begins the note of a call whose code ran several times


@dataclass(slots=True)
class LayerSteps:
    """The figures of the layers of a root in its sampled steps, by step."""

    steps: dict[int, list[TracedFigures]] = field(default_factory=dict)

    def add_to(self, recording: Recording, hooks: Sequence[HookSpec]) -> None:
        """Add the calls of the first step, and events with the figures of each step."""
        for number, (step, layers) in enumerate(self.steps.items()):
            calls = _calls(layers)
            for layer, call in zip(layers, calls, strict=True):
                if number == 0:
                    _note_output(call, layer)
                recording.events += _events(
                    layer, call, step, len(recording.events), hooks, is_row=number == 0
                )
            if number == 0:
                recording.calls += sorted(set_of(calls), key=lambda call: call.order)


def count_means(calls: Sequence[CallNote | LayerRow]) -> int:
    """Return how many calls have figures that are means over several calls."""
    return sum(any(note.startswith(_MEAN) for note in call.notes) for call in calls)


def means_note(calls: Sequence[CallNote]) -> list[str]:
    """Return a note about calls whose figures are means, if there are some."""
    means = count_means(calls)
    if not means:
        return []
    return [f"{counted(means, 'row')} of layers are means over several calls of the same code"]


def set_of(calls: Sequence[CallNote]) -> list[CallNote]:
    """Return the calls, each once."""
    return list({id(call): call for call in calls}.values())


def _calls(layers: Sequence[TracedFigures]) -> list[CallNote]:
    """Return the call of each tensor: its module, and which call of it this is."""
    calls: dict[tuple[str, int], CallNote] = {}
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for layer in layers:
        index = numbers.get((layer.name, layer.path), 0)
        numbers[layer.name, layer.path] = index + 1
        key = layer.name, index
        if key not in calls:
            calls[key] = _call(layer, index)
        found.append(calls[key])
    _put_in_order(list(calls.values()))
    return found


def _put_in_order(calls: Sequence[CallNote]) -> None:
    """Set order, parent and depth of calls, which are in the order of their ends.

    Inside of a call are those that ended before it, of modules below its own, and not inside of
    another one.
    """
    below: dict[int, list[CallNote]] = {}
    open_calls: list[CallNote] = []
    for call in calls:
        prefix = f"{call.name}." if call.name else ""
        inner = [other for other in open_calls if (other.name or "").startswith(prefix)]
        below[id(call)] = [other for other in inner if other.name != call.name]
        kept = set(map(id, below[id(call)]))
        open_calls = [other for other in open_calls if id(other) not in kept]
        open_calls.append(call)
    todo: list[tuple[CallNote, int | None, int]] = [
        (call, None, 0) for call in reversed(open_calls)
    ]
    order = 0
    while todo:
        call, parent, depth = todo.pop()
        call.order, call.parent, call.depth = order, parent, depth
        todo += [(inner, order, depth + 1) for inner in reversed(below[id(call)])]
        order += 1


def _call(layer: TracedFigures, index: int) -> CallNote:
    module = layer.module
    return CallNote(
        order=0,
        key=id(module),
        name=layer.name,
        type=type(module).__name__,
        original_name=None,
        index=index,
        parent=None,
        depth=0,
        training=module.training,
        place=None,
        recomputed=False,
        inputs=[],
        counted=False,
    )


def _leaf(layer: TracedFigures, path: str) -> LeafNote:
    dtype = "" if layer.dtype is None else dtype_name(layer.dtype)
    return path, layer.shape or (), dtype, False


def _note_output(call: CallNote, layer: TracedFigures) -> None:
    """Add a tensor to the outputs of a call."""
    call.outputs.append(_leaf(layer, layer.path))
    if layer.calls > 1:
        note = f"{_MEAN}{counted(layer.calls, 'call')}"
        if note not in call.notes:
            call.notes.append(note)


def _events(
    layer: TracedFigures,
    call: CallNote,
    step: int,
    number: int,
    hooks: Sequence[HookSpec],
    *,
    is_row: bool,
) -> list[EventNote]:
    """Return the events of a tensor; those of a call that `is_row` are figures of that row."""
    events: list[EventNote] = []
    for kind, figures in ((OUTPUTS, layer.values), (OUTPUT_GRADIENTS, layer.gradient)):
        if figures is None:
            continue
        is_value = kind == OUTPUTS
        events.append(
            EventNote(
                seq=number + len(events),
                step=step,
                phase="forward" if is_value else "backward",
                kind=kind,
                target=layer.name if is_value else f"{layer.name}:output",
                call=call.index,
                order=call.order if is_row else None,
                node=None,
                hook=next((i for i, hook in enumerate(hooks) if hook.kind == kind), None),
                values=(_leaf(layer, layer.path if is_value else ""),),
                part=None if is_value else "output",
                path="" if is_value else layer.path,
                stats=[_statistics(layer, figures)],
            )
        )
    return events


def _statistics(layer: TracedFigures, figures: dict[str, float]) -> dict[str, Any]:
    """Return the figures as statistics have them; a norm of several calls is their mean."""
    norm = figures["norm"]
    single = layer.calls == 1
    finite = math.isfinite(norm)
    nans, infs = figures.get("nans"), figures.get("infs")
    return {
        "numel": round(figures["numel"]),
        "norm": norm,
        "mean": figures.get("mean") if single else None,
        "std": None,
        "min": None,
        "max": None,
        "abs_max": figures.get("abs_max") if single else None,
        "zeros": None,
        "nans": 0 if finite else None if nans is None else int(nans),
        "infs": 0 if finite else None if infs is None else int(infs),
    }
