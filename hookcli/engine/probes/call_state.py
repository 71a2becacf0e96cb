"""What a call of a model leaves behind: values for the next call, and other inputs.

`kept_tensors` are the tensors in attributes and buffers of modules that a run replaced or changed;
parameters and the statistics of batch norms are not among them. Only if there are any, `call_state`
calls the model with the same input and seed in eval mode before and after a call with another
input, and again after it has restored these attributes. `changed_inputs` are the inputs that a
forward writes to.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.context import ProbeWatcher, Requests, RerunContext, where_possible
from hookcli.engine.probes.determinism import change
from hookcli.engine.probes.rerun import Outputs, Rerun, copy_of
from hookcli.engine.seeds import seed_all
from hookcli.models import module_tree
from hookcli.models.batch import map_batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves, shape_of
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import BatchNormBase

KEPT, STATE, CHANGED = "kept_tensors", "call_state", "changed_inputs"
_OWN = {"_parameters", "_buffers", "_modules"}
_TIMES_EPS = 64
_RESETS = ("reset", "init_hidden", "init_state", "clear", "detach")  # in names of methods


def _attributes(root: nn.Module) -> Iterator[tuple[str, nn.Module, str, Any]]:
    """Yield the attributes and buffers of modules that contain tensors, with their names."""
    for name, module in module_tree.named(root):
        kept = {key: value for key, value in vars(module).items() if key not in _OWN}
        if not isinstance(module, BatchNormBase) and type(module._buffers) is dict:
            kept |= module._buffers
        for attribute, value in kept.items():
            if any(True for _ in _tensors(value)):
                yield (f"{name}.{attribute}" if name else attribute), module, attribute, value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        yield value
    elif kind in {list, tuple}:
        yield from (item for item in value if isinstance(item, torch.Tensor))
    elif kind is dict:
        yield from (item for item in value.values() if isinstance(item, torch.Tensor))


class KeptTensors(ProbeWatcher):
    """Compares the attributes of modules before and after the run, and inputs around a forward."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        self.measurements = []
        self._probes = probes
        self._root: nn.Module | None = None
        self._before: dict[str, list[tuple[torch.Tensor, int]]] = {}
        self._given: list[tuple[str, torch.Tensor, int]] = []  # inputs, with their versions
        self._has_looked = False

    def begin(self, model: Model) -> None:
        """Note the tensors; they are kept, so that no other one gets their identity."""
        self.measurements.clear()
        self._root, self._before = model.root, {}
        self._given, self._has_looked = [], False
        for probe in self._probes:
            self.measurements.append(Measurement(probe, "", None, {"count": 1}, None))
        with where_possible():
            for name, _, _, value in _attributes(model.root):
                self._before[name] = _versions(value)

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the versions of the inputs of the first forward."""
        if call.parent is None and CHANGED in self._probes and not self._has_looked:
            self._has_looked = True
            with where_possible():
                self._given = [
                    (path, tensor, tensor._version)
                    for path, tensor, _ in argument_leaves(*batch)
                    if not tensor.is_inference() and tensor.grad_fn is None
                ]

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Add the inputs that were written to."""
        if call.parent is not None or not self._given:
            return
        given, self._given = self._given, []
        for i, (path, tensor, version) in enumerate(given):
            if error is None and tensor._version != version:
                value = {"first": i == 0, "shape": [*shape_of(tensor)], "place": call.place}
                self.measurements.append(Measurement(CHANGED, path, None, value, None))

    def complete(self) -> None:
        """Add the attributes that have other tensors now."""
        if KEPT in self._probes:
            with where_possible():
                self._compare()
        self._root, self._before, self._given = None, {}, []

    def _compare(self) -> None:
        root, before = self._root, self._before
        for name, _, _, value in _attributes(root) if root is not None else ():
            now, was = _versions(value), before.get(name, [])
            same = len(now) == len(was) and all(
                a is b and one == other for (a, one), (b, other) in zip(now, was, strict=True)
            )
            if not same:
                self.measurements.append(Measurement(KEPT, name, None, len(now), None))


def _versions(value: Any) -> list[tuple[torch.Tensor, int]]:
    return [(t, 0 if t.is_inference() else t._version) for t in _tensors(value)]


def observe(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of attributes and inputs."""
    return [KeptTensors(tuple(request.name for request in requests))]


def call_state(again: Rerun) -> list[Measurement]:
    """Return the attributes through which a call changes the outputs of the next one."""
    root = again.model.root
    with again.training("eval") as forward:
        start = {name: (m, a, _copied(value)) for name, m, a, value in _attributes(root)}
        first = _outputs(again, forward)
        forward(map_batch(again.batch, _other))  # equal inputs may lead to equal values
        changed = [
            name
            for name, _, _, value in _attributes(root)
            if name in start and not _equal(value, start[name][2])
        ]
        if not _differ(first, _outputs(again, forward)):
            return []
        for name in changed:
            module, attribute, value = start[name]
            setattr(module, attribute, value)
        if not changed or _differ(first, _outputs(again, forward)):
            return []
        methods = {name for n in changed for name in dir(type(start[n][0]))}
        buffers = {name for name, (module, own, _) in start.items() if own in module._buffers}
    resets = any(word in name for name in methods for word in _RESETS if _is_own(name))
    resets |= any(_detaches(type(start[name][0]), start[name][1]) for name in changed)
    return [
        Measurement(STATE, name, None, {"resets": resets, "buffer": name in buffers}, None)
        for name in changed
    ]


def _other(tensor: torch.Tensor) -> torch.Tensor:
    """Return other values for an input: those of other samples, with the opposite sign."""
    moved = tensor.roll(1, 0) if tensor.dim() else tensor
    return -moved if moved.is_floating_point() else moved


def _detaches(kind: type[nn.Module], attribute: str) -> bool:
    """Return whether a forward detaches a state that it reads: it is carried on, on purpose."""
    try:
        source = inspect.getsource(kind.forward)
    except (TypeError, OSError):
        return False
    if f"self.{attribute}.detach" in source:
        return True
    lines = [line.strip() for line in source.splitlines() if ".detach" in line]
    return any(not line.startswith("self.") for line in lines)


def _is_own(method: str) -> bool:
    return not hasattr(nn.Module, method)


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return type(value)(_copied(item) for item in value)
    return {key: _copied(item) for key, item in value.items()} if type(value) is dict else value


def _equal(value: Any, before: Any) -> bool:
    pairs = zip(_tensors(value), _tensors(before), strict=False)
    return all(a.shape == b.shape and torch.equal(a.detach(), b) for a, b in pairs)


def _outputs(again: Rerun, forward: Any) -> Outputs:
    seed_all(again.plan.seed)
    return {path: copy_of(tensor) for path, tensor, _ in leaves(forward())}


def _differ(one: Outputs, other: Outputs) -> bool:
    if one.keys() != other.keys():
        return True
    return any(change(one[path], other[path]) > _limit(one[path]) for path in one)


def _limit(output: torch.Tensor) -> float:
    """Return how much rounding may change an output: equal calls round equally, nearly always."""
    return _TIMES_EPS * torch.finfo(output.dtype).eps if output.is_floating_point() else 0.0


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure whether calls depend on earlier ones."""
    return call_state(context.again)
