"""Observes activations during a run: modules when they return, functions in the graph."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.activations.functions import (
    MODULES,
    NODES,
    TANH,
    Function,
    Gate,
    Softmax,
    Squash,
    dead_units,
    one_hot,
    saturated,
)
from hookcli.engine.probes.activations.layers import (
    is_part_of_gelu,
    layer_behind,
    torch_class,
    units_of,
)
from hookcli.engine.probes.activations.masks import (
    FUSED,
    LAYERS,
    SOFTMAX,
    is_cleared,
    of_arguments,
    of_fused,
    of_softmax,
)
from hookcli.engine.probes.activations.outputs import ConstantOutputs, may_be_constant
from hookcli.engine.probes.activations.reading import distinct, reading
from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.engine.statistics.readable import readable
from hookcli.hooks.attach.graph import let_go, nodes_since, saved_tensor
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import leaves
from hookcli.report.findings import Measurement
from hookcli.rules.activations.measured import (
    CONSTANT,
    DEAD,
    KINDS,
    MASKED,
    ONE_HOT,
    SATURATED,
    SEEN,
    ZERO,
)
from hookcli.spec.request import Spec

_TEMPERATURE = 0.7  # of a relaxation that is meant to be nearly binary
_PER_CALL = 32  # functions of one kind that are read in a call: a loop may have thousands


@dataclass(frozen=True, slots=True)
class _Caller:
    """What is kept of a call."""

    name: str
    type: str
    index: int
    order: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """The layer before an activation, and the dimension of its units."""

    name: str | None
    units: int


class ActivationObserver(ProbeWatcher):
    """Measures activation functions, the outputs of layers, and masks.

    With `exact`, every value is read; otherwise only a few, and all if those look suspicious.
    """

    def __init__(self, measurements: list[Measurement], *, exact: bool = False) -> None:
        self.measurements = measurements
        self._exact = exact
        self._model: Model | None = None
        self._classes: dict[type, str | None] = {}
        self._restart()

    def _restart(self) -> None:
        self._step = 0
        self._seen: Counter[str] = Counter()
        self._rows: dict[tuple[Any, ...], Measurement] = {}
        self._begin_step()

    def _begin_step(self) -> None:
        self._callers: dict[int, _Caller] = {}
        self._before: _Layer | None = None  # the last layer that returned
        self._squashed: list[tuple[weakref.ref[Tensor], dict[str, Any]]] = []
        self._outputs: set[int] = set()  # addresses of the model's outputs
        self._by_module: set[int] = set()  # orders of calls whose outputs were read
        self._constant = ConstantOutputs()

    def begin(self, model: Model) -> None:
        """Forget what an earlier run measured."""
        self._restart()
        self._model = model

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Keep the name of a call, and read the masks that an attention layer gets."""
        if call.recomputed:
            return
        name = f"<{call.type}>" if call.name is None else call.name
        caller = self._callers[call.order] = _Caller(name, call.type, call.index, call.order)
        layer = torch_class(call.module, self._classes)
        if call.parent is None or (layer is not None and _is_judged(layer, call)):
            self._constant.enter(call, batch)
        if layer in LAYERS:
            self._seen[MASKED] += 1
            with reading():
                self._add(MASKED, caller, of_arguments(call.module, batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Read the output of a layer of torch.nn, and of the model."""
        caller = self._callers.get(call.order)
        if error is not None or call.recomputed or caller is None:
            return
        layer = torch_class(call.module, self._classes)
        if layer is not None:
            self._of_layer(layer, call, caller, output)
        if call.parent is None:
            self._of_model(call, caller, output)

    def _of_layer(self, layer: str, call: Call, caller: _Caller, output: Any) -> None:
        units = units_of(layer)
        if units is not None:
            self._before = _Layer(call.name, units)
        if not isinstance(output, Tensor):
            self._constant.forget(call)
            return
        if call.parent is not None and _is_judged(layer, call):
            self._seen[CONSTANT] += 1
            with reading():
                found = self._constant.of_layer(call, output)
                if found is not None:
                    self._add(ZERO if found[0] == "zero" else CONSTANT, caller, found[1])
        make = MODULES.get(layer)
        if make is not None:
            self._by_module.add(call.order)
            function = _made(make, call.module)
            if function is not None and not _is_behind_frozen(function, output):
                self._read(function, output, caller, self._before)

    def _of_model(self, call: Call, caller: _Caller, output: Any) -> None:
        """Compare the samples of the model's output, and mark the activations that it returns."""
        if self._model is not None:
            self._seen[CONSTANT] += 1
            with reading():
                facts = self._constant.of_model(call, output, self._model)
                if facts is not None:
                    self._add(CONSTANT, caller, {**facts, "model": True})
        for _, tensor, _ in leaves(output):
            if tensor.is_floating_point() and not tensor.is_nested:
                self._outputs.add(_address(tensor))
        self._outputs.discard(0)
        for ref, value in self._squashed:
            kept = ref()
            if kept is not None and _address(kept) in self._outputs:
                value["output"] = True

    def graph(self, start: Tensor, owners: NodeOwners) -> None:
        """Read what functions such as torch.relu saved for backward."""
        nodes = nodes_since([start], 0)
        grouped: dict[tuple[int, str], list[Any]] = defaultdict(list)
        for node in nodes:
            kind = type(node).__name__
            if kind in NODES or kind in SOFTMAX or kind in FUSED:
                order = owners.of(node._sequence_nr())
                if order is not None and order in self._callers:
                    grouped[order, kind].append(node)
        for (order, kind), group in grouped.items():
            caller = self._callers[order]
            if kind in SOFTMAX or kind in FUSED:
                self._masks_of(caller, kind, group, nodes)
            if kind in NODES and order not in self._by_module:
                self._functions_of(caller, kind, group, owners)
        grouped.clear()
        let_go(nodes)

    def _masks_of(self, caller: _Caller, kind: str, group: list[Any], nodes: Sequence[Any]) -> None:
        for node in _some(group):
            self._seen[MASKED] += 1
            with reading():
                found = of_fused(node) if kind in FUSED else of_softmax(node)
                if found is None or kind in FUSED or not is_cleared(node, nodes):
                    self._add(MASKED, caller, found)

    def _functions_of(
        self, caller: _Caller, kind: str, group: list[Any], owners: NodeOwners
    ) -> None:
        make, saved = NODES[kind]
        for i, node in enumerate(_some(group)):
            values = saved_tensor(node, saved)
            function = None if values is None else _made(make, node)
            if values is None or function is None or (function is TANH and is_part_of_gelu(node)):
                continue
            if isinstance(function, Squash) and _has_temperature(node):
                continue
            behind, units = layer_behind(node)
            order = None if behind is None else owners.of(behind._sequence_nr())
            layer = None if order is None else self._callers.get(order)
            before = None
            if layer is not None and units is not None:
                before = _Layer(layer.name, units)
            self._read(function, values, caller, before, i if len(group) > 1 else None)

    def gradients(self, model: Model) -> None:
        """Begin the next step."""
        self._step += 1
        self._begin_step()

    def complete(self) -> None:
        """Add the rows to the measurements, the counts first."""
        counts = {kind: self._seen[kind] for kind in KINDS}
        self.measurements.append(Measurement(SEEN, "", None, counts, "tensors"))
        self.measurements += self._rows.values()
        self._restart()
        self._model = None

    def _read(
        self,
        function: Function,
        tensor: Tensor,
        caller: _Caller,
        before: _Layer | None,
        nth: int | None = None,
    ) -> None:
        """Measure one activation; one that cannot be read is not counted."""
        if not tensor.is_floating_point() or tensor.is_nested or tensor.is_sparse:
            return
        with reading():
            result = readable(tensor)
            if result is None or result[1] or not tensor.numel():
                return
            probe, facts = self._measure(function, distinct(result[0]), before)
            self._seen[probe] += 1
            if facts is None:
                return
            facts = {"function": function.name, **facts}
            if nth is not None:
                facts["nth"] = nth
            if before is not None and before.name is not None:
                facts["after"] = before.name
            if probe != DEAD:
                facts["output"] = _address(tensor) in self._outputs
                facts["dtype"] = str(tensor.dtype).removeprefix("torch.")
                self._squashed.append((weakref.ref(tensor), facts))
            self._add(probe, caller, facts)

    def _add(self, probe: str, caller: _Caller, facts: dict[str, Any] | None) -> None:
        """Add a row, if there is none from an earlier step."""
        if facts is None:
            return
        facts.update(type=caller.type, order=caller.order)
        if self._step:
            facts["step"] = self._step
        kind = facts.get("function"), facts.get("nth"), facts.get("model")
        key = (probe, caller.name, caller.index, *kind)
        self._rows.setdefault(key, Measurement(probe, caller.name, caller.index, facts, None))

    def _measure(
        self, function: Function, values: Tensor, before: _Layer | None
    ) -> tuple[str, dict[str, Any] | None]:
        if isinstance(function, Softmax):
            return ONE_HOT, one_hot(values, function, exact=self._exact)
        if not isinstance(function, Gate):
            return SATURATED, saturated(values, function, exact=self._exact)
        if before is None or values.dim() < 2:
            return DEAD, None
        return DEAD, dead_units(values, function, before.units, exact=self._exact)


def _is_judged(layer: str, call: Call) -> bool:
    """Return whether the output of a layer of torch.nn should vary over the batch."""
    return not call.module._modules and not may_be_constant(layer)


def _some(nodes: list[Any]) -> list[Any]:
    """Return at most 32 of the nodes of one kind of a call, evenly spaced."""
    return nodes[:: -(-len(nodes) // _PER_CALL)]


def _made(make: Any, source: Any) -> Function | None:
    """Return the function of a module or node; None if its settings cannot be read."""
    try:
        function: Function | None = make(source)
    except AttributeError:  # a scripted module, or the node of a user's function
        return None
    return function


def _has_temperature(node: Any) -> bool:
    """Return whether what an activation gets is divided by a small number, to be nearly 0 or 1.

    So are the samples of a relaxed distribution, such as those of a concrete dropout.
    """
    behind = node.next_functions[0][0] if node.next_functions else None
    if behind is None or behind.name() != "DivBackward0" or behind.next_functions[0][0] is None:
        return False
    number = behind._saved_other
    return number is not None and number.numel() == 1 and 0 < float(number) < _TEMPERATURE


def _is_behind_frozen(function: Function, output: Tensor) -> bool:
    """Return whether nothing before an activation is trained, so that it may be saturated."""
    return isinstance(function, Squash) and torch.is_grad_enabled() and not output.requires_grad


def _address(tensor: Tensor) -> int:
    """Return the address of a tensor's memory; 0 if it has none."""
    try:
        return tensor.data_ptr()
    except RuntimeError:  # a fake tensor, or one of a function transform
        return 0


def observe(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of activations, which reads every value if a request is exact."""
    exact = any(request.given().get("exact") for request in requests)
    return [ActivationObserver([], exact=exact)]
