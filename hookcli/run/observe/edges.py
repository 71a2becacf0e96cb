"""Finds which call made each tensor that a call gets: the edges of the module diagram.

A tensor is known by its storage. What operators made of known tensors is followed in the autograd
graph, and by each operator if a dispatch mode sees them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.models.model import Call
from hookcli.models.nested import argument_leaves, leaves
from hookcli.operators.names import short_name
from hookcli.report.edges import EdgeRow
from hookcli.run.observe.node_owners import NodeOwners
from hookcli.run.observe.node_producers import (
    MANY_EDGES,
    MOST_AFTER_MANY,
    MOST_OPERATORS,
    MOST_PRODUCERS,
    Found,
    NodeProducers,
    Producer,
    add_name,
)
from hookcli.torch_private import DisableTorchFunctionSubclass, peek_interpreter_stack

_PLAIN = {torch.Tensor, torch.nn.Parameter}
_NO_VERSION = -1  # of tensors that were made in inference mode


class _Operator:
    """An operator in no call of its own, and what made the tensors that it used."""

    __slots__ = ("inputs", "name")

    def __init__(self, name: str, inputs: tuple[_Maker, ...]) -> None:
        self.name, self.inputs = name, inputs


_Maker: TypeAlias = "Producer | _Operator"
# What made the content of a storage, the version of the tensor then, and a reference that prevents
# reuse of the storage's address without keeping its memory alive.
_Known: TypeAlias = "tuple[_Maker, int, Any]"


class EdgeObserver:
    """Adds the edges between calls to `edges`. `owners` must know of each call before this does.

    Calls of other threads get their edges by storages only.
    """

    def __init__(self, edges: list[EdgeRow], owners: NodeOwners) -> None:
        self._edges = edges
        self._known: dict[int, _Known] = {}
        self._parts: dict[int, dict[int, str]] = {}  # paths by offset, of outputs in one storage
        self._parents: dict[int, int | None] = {}
        self._running: list[int] = []  # the orders of the calls that run, the innermost last
        self._callers: set[int] = set()  # of calls that were observed
        self._thread = threading.get_ident()
        self._nodes = NodeProducers(owners, self._running)
        self.follows = False  # whether the innermost call may run others: its operators are edges
        self._following: list[bool] = []
        self._operators: dict[Any, tuple[str, bool]] = {}

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

    def clear(self) -> None:
        """Forget all tensors; the run has ended."""
        for table in (self._known, self._parts, self._parents, self._operators):
            table.clear()
        self._callers.clear()
        self._running.clear()
        self._following.clear()
        self.follows = False
        self._nodes.clear()

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Handle a call that starts."""
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
        if len(args) == 1 and not kwargs and type(args[0]) is torch.Tensor:
            self._input(call, "[0]", args[0])
            return
        for path, tensor, _ in argument_leaves(args, kwargs):
            self._input(call, path, tensor)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with its output or the error that it raised."""
        if call.order not in self._parents:
            return
        try:
            if error is None and peek_interpreter_stack() is None:
                if call.late:
                    for path, tensor, _ in argument_leaves((), call.late):
                        self._input(call, path, tensor)
                if type(output) is torch.Tensor:
                    self._output(call, "", output)
                else:
                    for path, tensor, _ in leaves(output):
                        self._output(call, path, tensor)
        finally:
            if threading.get_ident() == self._thread and call.order in self._running:
                i = self._running.index(call.order)  # calls above it never ended
                del self._running[i:], self._following[i:]
                self.follows = bool(self._following) and self._following[-1]

    def _input(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        try:
            if type(tensor) in _PLAIN:
                self._note_input(call, path, tensor)
            else:
                with DisableTorchFunctionSubclass():
                    self._note_input(call, path, tensor)
        except Exception:  # noqa: BLE001  # a subclass of the user's may raise anything
            return

    def _note_input(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        storage = _storage_of(tensor)
        known = None if storage is None else self._known.get(storage._cdata)
        if known is None:
            found = self._by_graph(tensor)
            if found:
                self._add(call, path, found)
            elif call.parent is None and not isinstance(tensor, torch.nn.Parameter):
                self._note_batch(path, tensor)
                self._edges.append(EdgeRow(None, path, call.order, path))
            return
        maker, version, _ = known
        if isinstance(maker, _Operator):
            self._add(call, path, self._by_operators(maker))
            return
        written = version != _version_of(tensor)
        found = self._by_graph(tensor) if written else {}
        self._add(call, path, found or {self._part(storage, tensor, maker): ()})

    def _output(self, call: Call, path: str, tensor: torch.Tensor) -> None:
        try:
            if type(tensor) in _PLAIN:
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
            self._parts[storage._cdata].setdefault(_offset_of(tensor), path)
            self._nodes.note(tensor, (order, path))
            return
        elif known[0][0] is not None and known[0][0] > order:  # a call inside made it
            if call.parent is None:  # the output of the whole model
                self._add(call, path, {self._part(storage, tensor, known[0]): ()}, "output")
            return
        self._add(call, path, found, "output")
        if storage is not None:
            self._know(storage, (order, path), version, known)
            self._parts[storage._cdata] = {_offset_of(tensor): path}
        if path or known is not None:
            self._nodes.note(tensor, (order, path))

    def _know(self, storage: Any, maker: _Maker, version: int, known: _Known | None = None) -> None:
        reference = StorageWeakRef(storage) if known is None else known[2]  # type: ignore[no-untyped-call]
        self._known[storage._cdata] = (maker, version, reference)

    def _part(self, storage: Any, tensor: torch.Tensor, maker: Producer) -> Producer:
        """Return the output of a call that a tensor is, if several outputs have one storage."""
        parts = self._parts.get(storage._cdata)
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
            if end == "input":
                if source is None or source < call.order:
                    through = names[::-1]
                    self._edges.append(EdgeRow(source, output, call.order, path, end, through))
            elif source is not None and self._is_inside(source, call.order):
                self._edges.append(EdgeRow(source, output, call.order, path, end, names[::-1]))

    def _is_inside(self, order: int, outer: int) -> bool:
        inner: int | None = order
        while inner is not None and inner > outer:
            inner = self._parents.get(inner)
        return inner == outer and order != outer

    def operator(self, func: Any, args: tuple[Any, ...], out: Any) -> None:
        """Follow an operator that ran in a call which may run others."""
        known = self._operators.get(func)
        if known is None:
            schema = getattr(func, "_schema", None)
            known = short_name(func), bool(schema is not None and schema.is_mutable)
            self._operators[func] = known
        name, writes = known
        makers: list[_Maker] = []
        keys: set[int] = set()
        for tensor in _tensors(args):
            storage = _storage_of(tensor)
            if storage is None or storage._cdata in keys:
                continue
            keys.add(storage._cdata)
            before = self._known.get(storage._cdata)
            if before is not None:
                makers.append(before[0])
        if not makers:
            return
        operator = _Operator(name, tuple(dict.fromkeys(makers)))
        results = (*_tensors((out,)), *(_tensors(args[:1]) if writes else ()))
        for tensor in results:
            storage = _storage_of(tensor)
            if storage is not None and (writes or storage._cdata not in keys):
                known_before = self._known.get(storage._cdata)
                self._know(storage, operator, _NO_VERSION, known_before)


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    """Return the tensors among the arguments of an operator."""
    tensors = []
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            tensors += [item for item in value if isinstance(item, torch.Tensor)]
    return tensors


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
