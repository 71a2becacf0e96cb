"""The places where hooks inside compiled code write: one for each call that the compiler traces.

A hook asks for a place while Dynamo traces a call of its module. Compiled code then writes into
tensors that exist already, so that no operator leaves the graph. Dynamo uses code again for other
modules of the same class: all hooks on modules of one class therefore have the same places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from hookcli.torch_private import CompileContext, current_translator, peek_interpreter_stack

MOST = 64  # places of one hook: calls of its module in all graphs together
NONE = ""  # the key of no place

# What a place has of a tensor. All are sums over the calls since the last reset; the first counts
# these calls. Norms are written by default, the rest where it is asked for.
NORM = ("calls", "numel", "norm")
ALL = (*NORM, "mean", "abs_max", "nans", "infs")  # of an output also calls with a bad input


@dataclass(slots=True)
class Place:
    """A place: Dynamo's number of the compilation, and the tensor that it saw there first.

    `path` names the tensor in the output of the call.
    """

    graph: str
    path: str
    shape: tuple[int | None, ...] | None = None
    dtype: torch.dtype | None = None


class Spot(NamedTuple):
    """A tensor at a call site in one compilation: of which class of modules, and which call."""

    kind: type
    graph: str
    number: int
    path: str


@dataclass(slots=True)
class Slots:
    """All places of the hooks of one process.

    `missed` counts the calls without a place, by reason. `columns` are the figures of a place.
    """

    columns: tuple[str, ...] = NORM
    places: dict[str, Place] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    order: Iterator[int] = field(default_factory=itertools.count)
    _spots: dict[Spot, str] = field(default_factory=dict)
    _counts: dict[type, int] = field(default_factory=dict)
    _kinds: dict[type, int] = field(default_factory=dict)
    _hooks: dict[type, list[Any]] = field(default_factory=dict)
    _seen: dict[tuple[int, str, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def is_wide(self) -> bool:
        """Whether all figures are written."""
        return self.columns is ALL

    def add(self, hook: Any) -> None:
        """Add a hook; it gets the places that others of its class have."""
        hooks = self._hooks.setdefault(hook.kind, [])
        hooks.append(hook)
        self._kinds.setdefault(hook.kind, len(self._kinds))
        for key in self._keys(hook.kind):
            hook.make_room(key)

    def _keys(self, kind: type) -> list[str]:
        return [self._key(kind, i) for i in range(self._counts.get(kind, 0))]

    def _key(self, kind: type, number: int) -> str:
        return f"{self._kinds[kind]}_{number}"

    def take(self, hook: Any, path: str) -> str:
        """Return the key of the place for a tensor of the call that Dynamo traces now.

        It is `NONE` where nothing may be written: in the body of an operator that calls functions,
        such as a checkpoint or torch.cond, in a transform of torch.func, and in an export.
        """
        translator = current_translator()
        if translator is None or getattr(translator, "export", False):
            return self._miss("exported")
        if translator.output.current_tracer.parent is not None:
            return self._miss("checkpoint or control flow")
        if peek_interpreter_stack() is not None:
            return self._miss("transform of torch.func")
        trace = CompileContext.current_trace_id()
        graph = str(trace.compile_id)
        number = self._number(hook, path, graph, trace.attempt)
        spot = Spot(hook.kind, graph, number, path)
        if spot not in self._spots:
            count = self._counts.get(hook.kind, 0)
            if count == MOST:
                return self._miss(f"more than {MOST} calls of a class")
            self._counts[hook.kind] = count + 1
            key = self._spots[spot] = self._key(hook.kind, count)
            self.places[key] = Place(graph, path)
            for one in self._hooks[hook.kind]:
                one.make_room(key)
        key = self._spots[spot]
        hook.traced.setdefault(key, next(self.order))
        return key

    def _number(self, hook: Any, path: str, graph: str, attempt: int) -> int:
        """Return which call of the hook's module this is in a graph: Dynamo may begin again."""
        known, number = self._seen.get((id(hook), path, graph), (attempt, 0))
        if known != attempt:
            number = 0
        self._seen[id(hook), path, graph] = attempt, number + 1
        return number

    def _miss(self, reason: str) -> str:
        self.missed[reason] = self.missed.get(reason, 0) + 1
        return NONE

    def note(self, key: str, tensor: torch.Tensor) -> None:
        """Note shape and dtype of the fake tensor with which Dynamo traces a place."""
        place = self.places.get(key)
        if place is not None and place.shape is None:
            place.shape = tuple(_hint(size) for size in tensor.shape)
            place.dtype = tensor.dtype


def _hint(size: Any) -> int | None:
    """Return a size of the batch that is traced, without a guard on it."""
    if type(size) is int:
        return size
    hint = getattr(getattr(size, "node", None), "hint", None)
    return hint if type(hint) is int else None
