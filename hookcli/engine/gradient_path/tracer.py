"""Follows values through one forward, and notes each operator at which a gradient's path ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from hookcli.engine.gradient_path import source_lines
from hookcli.engine.gradient_path.carried_cuts import CarriedCuts
from hookcli.engine.gradient_path.operator_values import (
    ARRAYS,
    BY_POSITION,
    FIRST_ONLY,
    LEAVING,
    MAKING,
    SHAPE_ONLY,
    SUMS,
    name_of,
    rounds,
    writes,
)
from hookcli.engine.gradient_path.parameter_reach import ParameterReach, reachable
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.models import module_tree, places
from hookcli.models.model import Call, CallInputs, Model, lost_checkpoint
from hookcli.models.nested import argument_leaves, leaves
from hookcli.torch_private import (
    DisableTorchFunctionSubclass,
    next_sequence_nr,
    peek_interpreter_stack,
    set_grad_enabled,
)

if TYPE_CHECKING:
    from hookcli.report.measured.gradient_path import CutKind

_SCALARS = 1000  # numbers of a list that are looked at
_DEEPEST = 8  # containers inside containers, as arguments of an operator


@dataclass(slots=True)
class Cut:
    """A place where a result does not require grad although an argument does.

    "no_grad": gradients were turned off. "integer": the result has an integer or Boolean dtype.
    "function": a custom autograd Function. "checkpoint": a reentrant one, no input of which
    requires grad. "number": the result is a Python value. `behind` are the
    bits of the parameters behind the arguments, `bit` is its own bit among the cuts. A forward may
    have many thousand: a `GradientCut` with the names that the bits stand for is made for few.
    """

    kind: CutKind
    operator: str
    place: str | None
    layer: str | None  # the name of the innermost module that ran
    module: str  # its type
    bit: int
    behind: int = 0
    left: bool = False  # its values were read by Python


class ConstantTerm(NamedTuple):
    """A term without a gradient in a sum of scalars that has one: its cuts, and the sum's node."""

    cuts: int
    node: Any
    place: str | None


class CallOutput(NamedTuple):
    """What a call returned: the nodes of its tensors, and whether any comes from a parameter."""

    call: Call
    nodes: list[Any]
    depends: bool


class GradientTracer(TorchFunctionMode):
    """A mode for one forward of a model, which is observed by `enter` and `leave` too.

    It changes no value. Operators in compiled, scripted or C++ code, and on other threads, are not
    seen; what a module computed with them counts as one operator.

    Attributes
    ----------
    active : whether operators are followed: from the start of the first call on.
    reach : the parameters behind each tensor.
    cuts : the operators at which a path ended.
    carried : the cuts behind the values of each tensor.
    used : the bits of the parameters that were arguments of operators.
    calls : what each call returned, in the order of their ends.
    functions : the places of custom Functions that ran, by name and sequence number.
    owners : the call that made a node.
    cuts_into : the cuts behind the inputs of each module, by name.
    rounding : the nodes of operators whose gradient is zero, each with its cut.
    terms : the terms without a gradient in sums of scalars.

    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.active = False
        self.reach = ParameterReach(model.parameters())
        self.owners = NodeOwners()
        self.cuts: list[Cut] = []
        self.carried = CarriedCuts(_own_tensors(model))
        self.used = 0
        self.calls: list[CallOutput] = []
        self.functions: dict[str, dict[int, str | None]] = {}
        self.cuts_into: dict[str | None, int] = {}
        self.rounding: dict[Any, Cut] = {}
        self.terms: list[ConstantTerm] = []
        self.detached: list[tuple[torch.Tensor, torch.Tensor]] = []  # scalars, with their sources
        self._known: dict[tuple[Any, ...], Cut] = {}
        self._running: list[Call] = []
        self._inputs: dict[int, list[torch.Tensor]] = {}  # of the calls that run
        self._off: str | None = None  # the line that turned gradients off
        self._is_off = False
        self._off_in: Call | None = None  # the call whose code turned them off
        self._numbers: dict[float, int] = {}  # cuts by the Python numbers that were read
        self._arrays = 0  # cuts whose values were read as arrays

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Handle a call that starts; the batch of the first one is known."""
        inputs = self._inputs[call.order] = [t for _, t, _ in argument_leaves(*batch)]
        self.owners.enter(call, batch)
        if not self._running:
            self.active = True
            for tensor in inputs:
                self.carried.set(tensor, 0)
        for tensor in inputs:
            into = self.cuts_into.get(call.name, 0)
            self.cuts_into[call.name] = into | self.carried.of(tensor)
        self._running.append(call)

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle the end of a call; outputs that no operator made belong to its own code."""
        self.owners.leave(call, output, error)
        inputs = self._inputs.pop(call.order, [])
        if call in self._running:
            del self._running[self._running.index(call) :]
        if error is None:
            self._unseen(call, inputs, output)
            tensors = [t for _, t, _ in leaves(output)]
            nodes = [t.grad_fn for t in tensors if t.grad_fn is not None]
            depends = any(t.requires_grad or self.carried.of(t) for t in tensors)
            self.calls.append(CallOutput(call, nodes, depends))

    def _unseen(self, call: Call, inputs: list[torch.Tensor], output: Any) -> None:
        """Note the outputs that no operator made: code that is not Python did."""
        made = [t for _, t, _ in leaves(output) if not self.carried.knows(t)]
        if not made:
            return
        cuts, behind = 0, 0
        own = [p for p in getattr(call.module, "_parameters", {}).values() if p is not None]
        for tensor in (*inputs, *own):
            cuts |= self.carried.of(tensor)
            behind |= self.reach.of(tensor)
        for tensor in made:
            if self._arrays and not tensor.requires_grad:
                self.of_unknown(tensor)
                continue
            cut = 0
            if behind and not tensor.requires_grad:
                cut = self._cut_in(call, behind).bit
            self.carried.set(tensor, cuts | cut)

    def _cut_in(self, call: Call, behind: int) -> Cut:
        """Return the cut somewhere in the code of a call, at an operator that was not seen."""
        cut = self._cut("operator", "", call.place, call)
        cut.behind |= behind
        return cut

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.active or peek_interpreter_stack() is not None:
            return func(*args, **kwargs)
        if func is set_grad_enabled:
            self._switch(bool(args[0]), sys._getframe(1))
            return func(*args, **kwargs)
        with DisableTorchFunctionSubclass():
            step = _Step(self, func, args, kwargs)
        out = func(*args, **kwargs)
        with DisableTorchFunctionSubclass():
            step.conclude(out, sys._getframe(1))
        return out

    def _switch(self, enabled: bool, frame: FrameType) -> None:
        if not enabled and not self._is_off:
            self._off, self._off_in = source_lines.of_context(frame), self.running()
        self._is_off = not enabled

    def call_of(self, number: int) -> Call | None:
        """Return the innermost call that made the node with this sequence number."""
        order = self.owners.of(number)
        return next((o.call for o in self.calls if o.call.order == order), None)

    def running(self) -> Call | None:
        """Return the innermost call that runs."""
        return self._running[-1] if self._running else None

    def noted(self, kind: CutKind, operator: str, frame: FrameType) -> Cut:
        """Return the cut of the operator that runs: one for each line in each module."""
        place: str | None
        call = self.running()
        checkpoint = lost_checkpoint()
        function = None if checkpoint else source_lines.custom_function(frame)
        if checkpoint is not None:
            place, module = source_lines.of_call(checkpoint)
            calls = [one for one in self._running if one.module is module]
            kind, operator, call = "checkpoint", "checkpoint", calls[-1] if calls else call
        elif function is not None:
            kind, (operator, place) = "function", function
            self.functions.setdefault(operator, {})[next_sequence_nr()] = place
        elif kind != "number" and not torch.is_grad_enabled():
            kind = "no_grad"
            operator, place, call = self._turned_off(frame)
        else:
            place = places.of_frame(frame)
        cut = self._cut(kind, operator, place, call)
        if function is not None:
            self.carried.of_functions |= cut.bit
        return cut

    def _cut(self, kind: CutKind, operator: str, place: str | None, call: Call | None) -> Cut:
        layer, module = (None, "") if call is None else (call.name, call.type)
        key = (kind, operator, place, layer, module)
        cut = self._known.get(key)
        if cut is None:
            cut = Cut(kind, operator, place, layer, module, 1 << len(self.cuts))
            self._known[key] = cut
            self.cuts.append(cut)
        return cut

    def _turned_off(self, frame: FrameType) -> tuple[str, str | None, Call | None]:
        """Return what turned gradients off, the line, and the call whose code did."""
        if torch.is_inference_mode_enabled():
            place, module = source_lines.of_inference_mode(frame)
            calls = [call for call in self._running if call.module is module]
            return "inference_mode", place, calls[-1] if calls else self.running()
        if self._is_off:
            return "no_grad", self._off, self._off_in
        return "no_grad", places.of_frame(frame), self.running()

    def read(self, name: str, out: Any, cuts: int) -> None:
        """Note the Python values that an operator returned, and the cuts behind them."""
        for cut in self.cuts:
            if cut.bit & cuts:
                cut.left = True
        if name in ARRAYS:
            self._arrays |= cuts
            return
        for number in _floats(out):
            if number not in {0.0, 1.0, -1.0}:
                self._numbers[number] = self._numbers.get(number, 0) | cuts

    def brought(self, name: str, args: Any, kwargs: Any) -> int:
        """Return the cuts behind the Python values among an operator's arguments."""
        cuts = 0
        if self._numbers:
            for number in _floats((*args, *kwargs.values())):
                cuts |= self._numbers.get(number, 0)
        made = self._arrays and name in MAKING
        if made and any(type(value).__module__.startswith("numpy") for value in _flat(args)):
            cuts |= self._arrays
        return cuts

    def of_unknown(self, tensor: torch.Tensor) -> int:
        """Return the cuts behind a tensor that no operator made: `from_numpy` is not seen."""
        self.carried.set(tensor, self._arrays)
        return self._arrays


class _Step:
    """One operator: what is known before it runs, and what follows from its result."""

    def __init__(self, tracer: GradientTracer, func: Any, args: Any, kwargs: Any) -> None:
        self._tracer = tracer
        self._name = name = name_of(func)
        self._args, self._kwargs = args, kwargs
        self._writes = writes(func, name)
        tensors = list(_tensors((*args, *kwargs.values())))
        for tensor in tensors:
            tracer.used |= tracer.reach.own(tensor)
        if name in SHAPE_ONLY:
            tensors = []
        elif name in FIRST_ONLY:
            tensors = tensors[:1]
        self._inputs = tensors
        self._graded = [t for t in tensors if t.requires_grad]
        self._cuts = 0
        for tensor in tensors:
            known = tracer.carried.knows(tensor) or tensor.requires_grad
            self._cuts |= tracer.carried.of(tensor) if known else tracer.of_unknown(tensor)
        self._cuts |= tracer.brought(name, args, kwargs)
        # afterwards the tensor itself is no longer part of the graph
        lost = self._graded if name == "detach_" or (name == "data" and self._writes) else []
        self._lost = self._behind(lost)

    def _behind(self, tensors: list[torch.Tensor]) -> int:
        bits = 0
        for tensor in tensors:
            bits |= self._tracer.reach.of(tensor)
        return bits

    def conclude(self, out: Any, frame: FrameType) -> None:
        """Note the cuts behind the result."""
        name, tracer = self._name, self._tracer
        if name in LEAVING:
            self._read(out, frame)
            return
        results = list(_tensors((out,)))
        if name in BY_POSITION and len(results) == len(self._inputs):
            for result, tensor in zip(results, self._inputs, strict=True):
                tracer.carried.set(result, tracer.carried.of(tensor))
            return
        if name in {"data", "detach"} and not self._writes:
            for result in results:
                tracer.carried.add_alias(result)
        written = self._written(results)
        for result in results:
            if any(result is tensor for tensor in written):
                continue
            if not any(result is tensor for tensor in self._inputs):
                tracer.carried.set(result, self._cuts | self._cut(result, frame))
        for tensor in written:
            tracer.carried.write(tensor, self._cuts | self._cut(tensor, frame))
        if self._graded and rounds(name, self._kwargs):
            self._note_rounding(results, frame)
        if results and self._graded and results[0].dim() == 0:
            self._note_scalar(results[0], frame)

    def _note_scalar(self, result: torch.Tensor, frame: FrameType) -> None:
        """Note a scalar that is detached, and a term without a gradient in a sum of scalars."""
        if self._name == "detach":
            self._tracer.detached.append((result, self._graded[0]))
        if self._name not in SUMS or result.grad_fn is None:
            return
        reach = self._tracer.reach
        trained = [tensor for tensor in self._graded if reach.of(tensor)]
        if len(trained) != 1:
            return
        cuts = 0
        for value in self._args:
            if isinstance(value, torch.Tensor) and value is not trained[0]:
                if not self._is_own_value(value, trained[0]) and not _uses_leaf(value):
                    cuts |= self._tracer.carried.of(value)
            elif isinstance(value, float):
                cuts |= self._tracer.brought(self._name, (value,), {})
        if cuts:
            place = places.of_frame(frame)
            self._tracer.terms.append(ConstantTerm(cuts, result.grad_fn, place))

    def _is_own_value(self, term: torch.Tensor, other: torch.Tensor) -> bool:
        """Return whether a term is computed from the other one, as in `x + (y - x).detach()`."""
        for tensor, source in self._tracer.detached:
            if tensor is term:
                return other.grad_fn in reachable(source)
        return False

    def _written(self, results: list[torch.Tensor]) -> list[torch.Tensor]:
        if self._writes:
            return list(_tensors(self._args[:1]))
        return [t for t in _tensors((self._kwargs.get("out"),)) if any(t is r for r in results)]

    def _cut(self, result: torch.Tensor, frame: FrameType) -> int:
        """Return the bit of the cut at this operator; 0 if the path goes on."""
        if not (self._graded or self._lost) or self._goes_on(result):
            return 0
        numeric = result.is_floating_point() or result.is_complex()
        kind: CutKind = "integer" if not numeric else "operator"
        name, through_alias = self._name, result.requires_grad and result.grad_fn is not None
        if name in {"detach", "detach_", "data"}:
            kind = "detach"
        elif through_alias:
            kind, name = "detach", "data"
        cut = self._tracer.noted(kind, name, frame)
        cut.behind |= self._lost or self._behind(self._graded)
        if through_alias:
            self._tracer.carried.of_aliases |= cut.bit
        return cut.bit

    def _goes_on(self, result: torch.Tensor) -> bool:
        """Whether the path of the arguments goes on in a result.

        It does not in a view that is made while gradients are off: it requires grad, as a leaf. Nor
        does it in the tensor whose memory an alias writes to.
        """
        if not result.requires_grad:
            return False
        if result.grad_fn is None:
            return any(result is tensor for tensor in self._inputs)
        return not (self._is_written(result) and self._tracer.carried.is_alias(result))

    def _is_written(self, result: torch.Tensor) -> bool:
        return self._writes and bool(self._args) and result is self._args[0]

    def _read(self, out: Any, frame: FrameType) -> None:
        cuts = self._cuts
        if self._graded:
            cut = self._tracer.noted("number", self._name, frame)
            cut.behind |= self._behind(self._graded)
            cuts |= cut.bit
        if cuts:
            self._tracer.read(self._name, out, cuts)

    def _note_rounding(self, results: list[torch.Tensor], frame: FrameType) -> None:
        for result in results:
            if result.grad_fn is not None:
                place, call = places.of_frame(frame), self._tracer.running()
                layer, module = (None, "") if call is None else (call.name, call.type)
                cut = Cut("operator", self._name.rstrip("_"), place, layer, module, 0)
                self._tracer.rounding[result.grad_fn] = cut


def _own_tensors(model: Model) -> Iterator[torch.Tensor]:
    """Yield the parameters, the buffers, and tensors that are plain attributes of modules."""
    for info in (*model.parameters(), *model.buffers()):
        yield info.tensor
    if model.state_in_python:
        for module, _ in module_tree.modules(model.root):
            yield from _tensors(tuple(vars(module).values()))


def _flat(values: Any) -> Iterator[Any]:
    """Yield the items of tuples, lists and dicts inside each other."""
    todo = [iter(values)]
    while todo:
        for value in todo[-1]:
            kind = type(value)
            if issubclass(kind, (tuple, list, dict)) and len(todo) < _DEEPEST:
                todo.append(iter(value.values() if kind is dict else value))
                break
            yield value
        else:
            todo.pop()


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in _flat(values) if isinstance(value, torch.Tensor))


def _floats(values: Any) -> Iterator[float]:
    """Yield the first floating-point numbers in nested values."""
    items = values if isinstance(values, (tuple, list)) else (values,)
    for seen, value in enumerate(_flat(items)):
        if seen >= _SCALARS:
            return
        if type(value) is float:
            yield value


# Operators with parameters: what is behind them is computed by a layer.
_LAYERS = {f"{name}Backward0" for name in ("Addmm", "Mm", "Bmm", "Convolution", "Embedding")}


def _uses_leaf(tensor: torch.Tensor) -> bool:
    """Return whether the gradient of a tensor reaches a leaf without a layer on the way.

    If such an input of the model is the output of another one, as for a part that quantizes, the
    term trains that.
    """
    todo = [] if tensor.grad_fn is None else [tensor.grad_fn]
    seen = set(todo)
    for node in todo:  # grows meanwhile
        if hasattr(node, "variable"):
            return True
        if node.name() not in _LAYERS:
            following = [after for after, _ in node.next_functions if after is not None]
            todo += [after for after in following if after not in seen]
            seen.update(following)
    return False
