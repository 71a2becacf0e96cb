"""Finds which call made each tensor that a call gets: the edges of the module diagram.

A tensor is known by its storage. What operators made of known tensors is followed in the autograd
graph, and by each operator if a dispatch mode sees them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import torch

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.observe.node_producers import (
    MANY_EDGES,
    MOST_AFTER_MANY,
    MOST_OPERATORS,
    MOST_PRODUCERS,
    Found,
    NodeProducers,
    Producer,
    add_name,
)
from hookcli.engine.watcher import Watcher
from hookcli.models.model import Call, CallInputs
from hookcli.models.nested import argument_leaves, leaves
from hookcli.operators.names import short_name
from hookcli.report.edges import EdgeRow
from hookcli.torch_private import (
    DisableTorchFunctionSubclass,
    free_weak_ref,
    peek_interpreter_stack,
)

_MOST_NODES = 20_000  # of a graph that hookcli frees itself, unless the model raises
_NO_VERSION = -1  # of tensors that were made in inference mode


class _Operator:
    """An operator in no call of its own, and what made the tensors that it used."""

    __slots__ = ("inputs", "name")

    def __init__(self, name: str, inputs: tuple[_Maker, ...]) -> None:
        self.name, self.inputs = name, inputs


_Maker: TypeAlias = "Producer | _Operator"
_Known: TypeAlias = "tuple[_Maker, int]"  # what made a tensor, and its version then


class EdgeObserver(Watcher):
    """Adds the edges between calls to `edges`. `owners` must know of each call before this does.

    Only the calls of the first step of a run become edges. Those of other threads get their edges
    by storages only. `most_nodes` limits how many nodes of
    the graph are read.
    """

    def __init__(
        self, edges: list[EdgeRow], owners: NodeOwners, *, most_nodes: int = _MOST_NODES
    ) -> None:
        self._edges = edges
        self._known: dict[int, _Known] = {}  # by address of the storage
        self._references: list[int] = []  # weak ones to the storages, which have to be freed
        self._parts: dict[int, dict[int, str]] = {}  # paths by offset, of outputs in one storage
        self._parents: dict[int, int | None] = {}
        self._running: list[int] = []  # the orders of the calls that run, the innermost last
        self._callers: set[int] = set()  # of calls that were observed
        self._thread = threading.get_ident()
        self._nodes = NodeProducers(owners, self._running, most_nodes)
        self.follows = False  # whether the innermost call may run others: its operators are edges
        self._following: list[bool] = []
        self._first = True  # whether the first step of the run is running

    def begin_phase(self, name: str, step: int) -> None:
        """Note the step."""
        self._first = step == 0

    def batch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the tensors of the batch."""
        for path, tensor, _ in argument_leaves(args, kwargs):
            self._note_batch(path, tensor)

    def _note_batch(self, path: str, tensor: torch.Tensor) -> None:
        storage = _storage_of(tensor)
        if storage is not None:
            self._know(storage, (None, path), _version_of(tensor))
            if tensor.requires_grad:
                self._nodes.leaf = self._part_of_batch

    def _part_of_batch(self, leaf: torch.Tensor) -> Producer | None:
        storage = _storage_of(leaf)
        known = None if storage is None else self._known.get(storage._cdata)
        return known[0] if known is not None and isinstance(known[0], tuple) else None

    def __del__(self) -> None:
        """Free the references to storages."""
        self.clear()

    def clear(self) -> None:
        """Forget all tensors; the run has ended."""
        references, self._references = self._references, []
        for table in (self._known, self._parts, self._parents):
            table.clear()
        for reference in references:
            free_weak_ref(reference)
        self._callers.clear()
        self._running.clear()
        self._following.clear()
        self.follows = False
        self._nodes.clear()

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Handle a call that starts."""
        if not self._first:
            return
        self._parents[call.order] = call.parent
        if call.parent is not None:
            self._callers.add(call.parent)
        if threading.get_ident() == self._thread:
            self._running.append(call.order)
            self._following.append(_has_children(call.module))
            self.follows = self._following[-1]
            if not self._nodes.reads:
                self._nodes.begin(call)
            elif not call.graded:
                self._nodes.ungraded.add(call.sequence)
        else:
            self._nodes.reads = False  # their numbers are not in order any more
        if peek_interpreter_stack() is not None:
            return  # its tensors are those of a transform
        args, kwargs = batch
        if len(args) == 1 and not kwargs and _is_plain(type(args[0])):
            self._input(call, "[0]", args[0])
            return
        for path, tensor, _ in argument_leaves(args, kwargs):
            self._input(call, path, tensor)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with its output or the error that it raised."""
        if not self._first:
            return
        if call.order not in self._parents:
            return
        try:
            if error is None and peek_interpreter_stack() is None:
                if call.late:
                    for path, tensor, _ in argument_leaves((), call.late):
                        self._input(call, path, tensor)
                if _is_plain(type(output)):
                    self._output(call, "", output)
                else:
                    for path, tensor, _ in leaves(output):
                        self._output(call, path, tensor)
        finally:
            running = self._running  # that of one thread, which may change it meanwhile
            if running[-1:] == [call.order]:
                running.pop()
                self._following.pop()
            elif call.order in running:
                i = running.index(call.order)  # calls above it never ended
                del running[i:], self._following[i:]
            self.follows = self._following[-1:] == [True]

    def _input(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        try:
            if _is_plain(type(tensor)):
                self._note_input(call, path, tensor)
            else:
                with DisableTorchFunctionSubclass():
                    self._note_input(call, path, tensor)
        except Exception:  # noqa: BLE001  # a subclass of the user's may raise anything
            return

    def _note_input(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        storage = _storage_of(tensor)
        known = None if storage is None else self._known.get(storage._cdata)
        if known is not None and known[1] == _version_of(tensor) and type(known[0]) is tuple:
            source, output = self._part(storage, tensor, known[0])
            if source is None or source < call.order:
                self._edges.append(EdgeRow(source, output, call.order, path))
            return
        if known is None:
            found = self._by_graph(tensor)
            if found:
                self._add(call, path, found)
            elif call.parent is None and not isinstance(tensor, torch.nn.Parameter):
                self._note_batch(path, tensor)
                self._edges.append(EdgeRow(None, path, call.order, path))
            return
        maker = known[0]
        if isinstance(maker, _Operator):
            self._add(call, path, self._by_operators(maker))
            return
        found = self._by_graph(tensor)  # the tensor was written to since then
        self._add(call, path, found or {self._part(storage, tensor, maker): ()})

    def _output(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        try:
            if _is_plain(type(tensor)):
                self._note_output(call, path, tensor)
            else:
                with DisableTorchFunctionSubclass():
                    self._note_output(call, path, tensor)
        except Exception:  # noqa: BLE001  # as above
            return

    def _note_output(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        order, storage, version = call.order, _storage_of(tensor), _version_of(tensor)
        known = None if storage is None else self._known.get(storage._cdata)
        found: Found = {}
        if known is None:
            if order in self._callers:
                found = self._by_graph(tensor)
        elif isinstance(known[0], _Operator):
            found = self._by_operators(known[0])
        elif known[1] != version:
            if order in self._callers:
                found = self._by_graph(tensor) or {known[0]: ()}
        elif known[0][0] == order:  # another output has the same storage
            self._parts.setdefault(storage._cdata, {}).setdefault(_offset_of(tensor), path)
            self._nodes.note(tensor, (order, path), certain=True)
            return
        elif known[0][0] is not None and known[0][0] > order:  # a call inside made it
            if call.parent is None:  # the output of the whole model
                self._add(call, path, {self._part(storage, tensor, known[0]): ()}, "output")
            return
        if found:
            self._add(call, path, found, "output")
        if storage is not None:
            self._know(storage, (order, path), version)
            if path:  # there may be others
                self._parts[storage._cdata] = {_offset_of(tensor): path}
            elif self._parts:
                self._parts.pop(storage._cdata, None)
        self._nodes.note(tensor, (order, path), certain=bool(path) or known is not None)

    def _know(self, storage: Any, maker: _Maker, version: int) -> None:
        key = storage._cdata
        if key not in self._known:
            # It prevents reuse of the address without keeping the memory alive.
            self._references.append(storage._weak_ref())
        self._known[key] = (maker, version)

    def _part(self, storage: Any, tensor: torch.Tensor, maker: Producer) -> Producer:
        """Return the output of a call that a tensor is, if several outputs have one storage."""
        parts = self._parts.get(storage._cdata) if self._parts else None
        if parts is None or len(parts) == 1:
            return maker
        return maker[0], parts.get(_offset_of(tensor), maker[1])

    def _by_graph(self, tensor: torch.Tensor) -> Found:
        """Return what made a tensor, as the autograd graph tells."""
        if not self._nodes.reads or threading.get_ident() != self._thread:
            return {}
        return self._nodes.of(tensor, self._most())

    def _most(self) -> int:
        return MOST_PRODUCERS if len(self._edges) < MANY_EDGES else MOST_AFTER_MANY

    def _by_operators(self, operator: _Operator) -> Found:
        """Return what made the tensors that an operator and those before it used."""
        found: Found = {}
        most = self._most()
        seen = {operator}
        todo: list[tuple[_Maker, tuple[str, ...]]] = [(operator, ())]
        for maker, names in todo:  # the nearest first; it grows meanwhile
            if isinstance(maker, _Operator):
                more = add_name(names, maker.name)
                for before in maker.inputs:
                    if len(todo) > MOST_OPERATORS:
                        break
                    if not isinstance(before, _Operator):
                        todo.append((before, more))
                    elif before not in seen:
                        seen.add(before)
                        todo.append((before, more))
            elif len(found) < most:
                found.setdefault(maker, names)
        return found

    def _add(
        self, call: Call, path: str, found: Found, end: Literal["input", "output"] = "input"
    ) -> None:
        for (source, output), names in found.items():
            earlier = source is None or source < call.order
            if earlier or (end == "output" and self._is_inside(source, call.order)):
                self._edges.append(EdgeRow(source, output, call.order, path, end, names[::-1]))

    def _is_inside(self, order: int | None, outer: int) -> bool:
        inner = order
        while inner is not None and inner > outer:
            inner = self._parents.get(inner)
        return inner == outer and order != outer

    def operator(self, func: Any, args: tuple[Any, ...], out: Any) -> None:
        """Follow an operator that ran in a call which may run others."""
        kind = _kind_of(func)
        if kind is None:
            return  # a view has the storage of its input
        makers: dict[_Maker, None] = {}  # an ordered set
        keys: set[int] = set()
        for argument in args:
            for tensor in argument if isinstance(argument, list | tuple) else (argument,):
                if isinstance(tensor, torch.Tensor):
                    storage = _storage_of(tensor)
                    if storage is not None:
                        key = storage._cdata
                        keys.add(key)
                        known = self._known.get(key)
                        if known is not None:
                            makers[known[0]] = None
        if not makers:
            return
        name, writes = kind
        operator = _Operator(name, tuple(makers))
        changed = (out, args[0]) if writes and args else (out,)
        for value in changed:
            for tensor in value if isinstance(value, list | tuple) else (value,):
                storage = _storage_of(tensor) if isinstance(tensor, torch.Tensor) else None
                if storage is not None and (writes or storage._cdata not in keys):
                    self._know(storage, operator, _NO_VERSION)


@lru_cache(maxsize=1024)
def _kind_of(func: Any) -> tuple[str, bool] | None:
    """Return an operator's name and whether it writes to its input; None for one of views."""
    schema = getattr(func, "_schema", None)
    writes = False
    if schema is not None:
        writes = bool(schema.is_mutable)
        if not writes and any(result.alias_info is not None for result in schema.returns):
            return None
    return short_name(func), writes


def _runs_no_code(kind: Any) -> bool:
    """Whether it is a class of tensors whose methods and attributes run no code of a user."""
    function: Any = getattr(kind, "__torch_function__", None)
    return issubclass(kind, torch.Tensor) and (
        kind is torch.Tensor or function is torch.nn.Parameter.__torch_function__
    )


_is_plain: Callable[[Any], bool] = lru_cache(maxsize=256)(_runs_no_code)


def _storage_of(tensor: torch.Tensor) -> Any:
    """Return the storage of a tensor; None if it has none, as a sparse one."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError, ValueError):
        return None


def _version_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was written to."""
    try:
        return tensor._version
    except RuntimeError:
        return _NO_VERSION


def _offset_of(tensor: torch.Tensor) -> int:
    return int(tensor.storage_offset())


def _has_children(module: Any) -> bool:
    """Whether a module has others below it, in whose calls its operators may result."""
    return bool(getattr(module, "_modules", True))
