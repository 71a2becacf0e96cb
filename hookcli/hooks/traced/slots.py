"""The places where hooks inside compiled code write: one for each call that the compiler traces.

A hook asks for a place while Dynamo traces a call of its module. Compiled code then writes into
tensors that exist already, so that no operator leaves the graph. Dynamo uses code again for other
modules of the same class: all hooks on modules of one class therefore have the same places.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch

from hookcli.torch_private import CompileContext, current_translator, peek_interpreter_stack

MOST = 64  # places of one hook: calls of its module in all graphs together
NONE = ""  # the key of no place

# What a place has of a tensor. All are sums over the calls since the last reset; the first counts
# these calls. Norms are written by default, the rest where it is asked for.
NORM = ("calls", "numel", "norm")
ALL = (*NORM, "mean", "abs_max", "nans", "infs")  # of an output also calls with a bad input


Sort: TypeAlias = tuple[tuple[int | None, ...], torch.dtype]
Sizes: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Place:
    """A place: Dynamo's number of the compilation, and the path of the tensor in the output.

    `sorts` are the shapes and dtypes with which calls were traced, and `orders` when they were, by
    the sizes of the parameters of their modules: of a module whose code was compiled for another
    one nothing else is known. `is_used_inside` tells that the module uses the tensor itself before
    it returns it, such as the weights of attention: a hook on the tensor is given a gradient that
    does not pass where compiled code looks.
    """

    graph: str
    path: str
    sorts: dict[Sizes, set[Sort]] = field(default_factory=dict)
    orders: dict[Sizes, int] = field(default_factory=dict)
    is_used_inside: bool = False


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
    _last: tuple[Any, str] | None = None  # the hook and the key that were taken last
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
            return self.miss("exported")
        if translator.output.current_tracer.parent is not None:
            return self.miss("checkpoint or control flow")
        if peek_interpreter_stack() is not None:
            return self.miss("transform of torch.func")
        trace = CompileContext.current_trace_id()
        graph = str(trace.compile_id)
        number = self._number(hook, path, graph, trace.attempt)
        spot = Spot(hook.kind, graph, number, path)
        if spot not in self._spots:
            count = self._counts.get(hook.kind, 0)
            if count == MOST:
                return self.miss(f"more than {MOST} calls of a class")
            self._counts[hook.kind] = count + 1
            key = self._spots[spot] = self._key(hook.kind, count)
            self.places[key] = Place(graph, path)
            for one in self._hooks[hook.kind]:
                one.make_room(key)
        key = self._spots[spot]
        order = hook.traced.setdefault(key, next(self.order))
        self.places[key].orders.setdefault(hook.sizes, order)
        self._last = hook, key
        return key

    def _number(self, hook: Any, path: str, graph: str, attempt: int) -> int:
        """Return which call of the hook's module this is in a graph: Dynamo may begin again."""
        known, number = self._seen.get((id(hook), path, graph), (attempt, 0))
        if known != attempt:
            number = 0
        self._seen[id(hook), path, graph] = attempt, number + 1
        return number

    def miss(self, reason: str) -> str:
        """Count a call without a place, and return `NONE`."""
        self.missed[reason] = self.missed.get(reason, 0) + 1
        return NONE

    def notes(self) -> list[str]:
        """Return notes about the calls without a place."""
        return [
            f"--compiled: calls inside of {reason} are not observed"
            for reason in sorted(self.missed)
        ]

    def note(self, tensor: torch.Tensor) -> None:
        """Note shape and dtype of the fake tensor with which Dynamo traces the last place."""
        if self._last is not None:
            hook, key = self._last
            sort = tuple(_known(size) for size in tensor.shape), tensor.dtype
            hook.sorts[key] = sort
            self.places[key].sorts.setdefault(hook.sizes, set()).add(sort)
            try:
                used = _is_used_inside()
            except Exception:  # noqa: BLE001  # the script's code compiles in any case
                used = True
            self.places[key].is_used_inside |= used
            self._last = None

    def sort(self, hook: Any, key: str) -> Sort | None:
        """Return shape and dtype of a tensor; None if it is not known which of several it has."""
        if key in hook.sorts:
            own: Sort = hook.sorts[key]
            return own
        sorts = self.places[key].sorts.get(hook.sizes, set())
        return next(iter(sorts)) if len(sorts) == 1 else None


_USED = "hookcli_used_inside"  # of the meta data of a node


def _is_used_inside() -> bool:
    """Return whether the tensor of the node that Dynamo made last has other uses with a gradient.

    The node observes the tensor; one that an inner module returned, and has used, counts too.
    """
    translator = current_translator()
    nodes = None if translator is None else translator.output.graph.nodes
    node = None if nodes is None else next(iter(reversed(nodes)), None)
    given = node.args[0] if node is not None and node.args else None
    if node is None or not isinstance(given, torch.fx.Node):
        return False
    used = (
        given.meta.get(_USED, False)
        or _is_cell(given)
        or any(
            user is not node and _has_gradient(user.meta.get("example_value"))
            for user in given.users
        )
    )
    node.meta[_USED] = used
    return bool(used)


def _is_cell(node: torch.fx.Node) -> bool:
    """Return whether a node is the cell state of an LSTM cell, which makes the hidden state of it.

    No other operator of several steps returns a tensor that it has used.
    """
    if node.target is not operator.getitem or node.args[1] != 1:
        return False
    made_by = node.args[0]
    name = getattr(made_by.target, "__name__", "") if isinstance(made_by, torch.fx.Node) else ""
    return name == "lstm_cell"


def _has_gradient(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_gradient(one) for one in value)
    return isinstance(value, torch.Tensor) and value.requires_grad


def _known(size: Any) -> int | None:
    """Return a size; None if it is dynamic: reading it would compile code for this size alone."""
    return size if type(size) is int else None
