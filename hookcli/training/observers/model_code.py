"""What the code of a trained model makes: layers in forward, lasting dropout, broken ties."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.code.user_source import definition_of
from hookcli.engine.probes.trainability.unregistered import leaves_of_graph
from hookcli.models import module_tree, places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer
from hookcli.training.parallel.placements import is_dtensor
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall

_LOOKS = 3  # backward passes
_MOST = 1 << 26  # elements of a weight that is compared
_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


class ModelCode(Observer):
    """Looks at the first backward passes, and at the roots of first steps."""

    kinds = ("created_layer", "functional_dropout", "broken_tie")
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._passes = 0
        self._steps = 0
        self._strange: list[dict[int, torch.Tensor]] = []
        self._looked: set[int] = set()  # numbers of roots
        self._dropout: list[tuple[RootWatch, str, str]] = []

    def backward(self, call: TorchCall) -> None:
        """Note the parameters behind a loss that no optimizer has."""
        if self._passes >= _LOOKS or (not self._steps and self._passes):
            return
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        self._passes += 1
        held = {id(p) for one in self.seen.optimizers.values() for p in parameters_of(one)}
        own = {id(p) for root in self.seen.roots.values() for p in root.root.parameters()}
        self._strange.append(
            {
                id(leaf): leaf
                for leaf, _ in leaves_of_graph(start)
                if isinstance(leaf, nn.Parameter) and id(leaf) not in held | own
            }
        )

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the roots of a first step."""
        self._steps += 1
        for record in records:
            root = record.root
            if root.number in self._looked:
                continue
            self._looked.add(root.number)
            self.facts.look(*self.kinds)
            self._dropout += [(root, name, place) for name, place in _dropouts(root.root)]
            with torch.no_grad(), disable_current_modes():
                self._compare(record)

    def _compare(self, record: Record) -> None:
        """Find a linear layer with the very values of an embedding, and a parameter of its own."""
        weights: dict[tuple[int, ...], list[tuple[str, torch.Tensor]]] = {}
        linear = []
        for module, names in module_tree.modules(record.root.root):
            weight = module_tree.own_parameter(module, "weight")
            if weight is None or weight.is_meta or not 1 < weight.numel() <= _MOST:
                continue
            if is_dtensor(weight):  # to compare one would be a collective
                continue
            if isinstance(module, nn.Embedding):
                weights.setdefault(tuple(weight.shape), []).append((names[0], weight))
            elif isinstance(module, nn.Linear):
                linear.append((names[0], weight))
        for name, weight in linear:
            for other, values in weights.get(tuple(weight.shape), ()):
                if weight is not values and bool((weight == values).all()) and bool(weight.any()):
                    place = places.of_class(type(record.root.root))
                    self.facts.add(
                        "broken_tie",
                        f"{name}.weight",
                        place,
                        record=record,
                        other=f"{other}.weight",
                    )

    def finish(self) -> None:
        """Add what was new in each forward, and dropout of models that are evaluated."""
        if len(self._strange) == _LOOKS and all(self._strange):
            shapes = {tuple(sorted(tuple(p.shape) for p in one.values())) for one in self._strange}
            if len(shapes) == 1 and not set.intersection(*(set(one) for one in self._strange)):
                many = len(self._strange[0])
                record = self.seen.records[0] if self.seen.records else None
                place = None if record is None else places.of_class(type(record.root.root))
                self.facts.add("created_layer", "", place, record=record, parameters=many)
        for root, name, place in self._dropout:
            if root.ungraded.in_eval:
                self.facts.add(
                    "functional_dropout", name, place, record=self.record_of(root.parameter_ids())
                )
        self._strange.clear()


def _dropouts(root: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield the calls of functional dropout, in the user's forwards, that are not told the mode."""
    kinds: dict[type, str] = {}
    for module, names in module_tree.modules(root):
        kinds.setdefault(type(module), names[0])
    for kind in kinds:
        forward = inspect.getattr_static(kind, "forward", None)
        if not isinstance(forward, FunctionType):
            continue
        file = forward.__code__.co_filename
        if places.is_user(file) and not places.is_installed(file):
            for node in ast.walk(definition_of(forward) or ast.Pass()):
                if isinstance(node, ast.Call) and _is_lasting(node, forward):
                    yield kind.__name__, f"{places.show(file)}:{node.lineno}"


def _is_lasting(node: ast.Call, forward: FunctionType) -> bool:
    """Return whether a call is of functional dropout, without an argument for the mode."""
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr not in _DROPOUTS or len(node.args) > 2:
        return False
    owner = ast.unparse(called.value)
    value = forward.__globals__.get(owner)
    if value is not nn.functional and owner not in ("nn.functional", "torch.nn.functional"):
        return False
    return not any(
        keyword.arg is None or (keyword.arg == "training" and not _is_true(keyword.value))
        for keyword in node.keywords
    )


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
