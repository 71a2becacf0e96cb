"""Keeps the state of a model from before its run, so that the run can be repeated from there."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.engine.neutrality.containers import Objects, Tensors
from hookcli.engine.neutrality.model_state import ModelState, fits
from hookcli.engine.seeds import ModuleGenerators
from hookcli.engine.watcher import Watcher
from hookcli.models import module_tree
from hookcli.models.model import Model

_OF_TORCH = set(vars(nn.Module()))  # attributes that every module has: parameters, hooks
_COMMON = {bool, int, float, str, type(None)}


class TensorCopies:
    """Copies of the parameters and buffers of a model whose other state Python cannot restore."""

    def __init__(self, model: Model, *, parameters: bool) -> None:
        infos = [*model.buffers(), *(model.parameters() if parameters else ())]
        self._copies = [(info.tensor, info.tensor.detach().clone()) for info in infos]

    def restore(self) -> None:
        """Restore the values."""
        for tensor, before in self._copies:
            tensor.data.copy_(before)


class _OwnState:
    """The buffers and the attributes of modules that torch knows nothing of, and generators.

    It takes a tenth of the time of a `ModelState`, since every run keeps one.
    """

    def __init__(self, root: nn.Module) -> None:
        modules = [module for module, _ in module_tree.modules(root)]
        self._generators = ModuleGenerators(modules)
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._buffers: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._objects = Objects()
        for module in modules:
            stored = vars(module)
            own = {name: value for name, value in stored.items() if name not in _OF_TORCH}
            if own:
                self._attributes.append((stored, own))
            for value in own.values():
                if type(value) not in _COMMON:
                    self._objects.keep(value)
            if module._buffers:
                self._buffers.append((module._buffers, dict(module._buffers)))
                for buffer in module._buffers.values():
                    if buffer is not None:
                        self._objects.tensors.keep(buffer)

    def restore(self) -> None:
        for stored, own in self._attributes:
            for name in [n for n in stored if n not in own and n not in _OF_TORCH]:
                del stored[name]
            stored.update(own)
        for buffers, kept in self._buffers:
            buffers.clear()
            buffers.update(kept)
        self._objects.restore()
        self._generators.restore()


def state_of(model: Model, *, parameters: bool) -> ModelState | TensorCopies:
    """Return a snapshot of a model, with the values of its parameters if they may be written."""
    if model.state_in_python:
        return ModelState(model.root)
    return TensorCopies(model, parameters=parameters)


class InitialState(Watcher):
    """An observer that keeps the state before the first step; `parameters` if steps change them."""

    def __init__(self, *, parameters: bool) -> None:
        self._parameters = parameters
        self._kept: list[_OwnState | TensorCopies | Tensors] | None = None

    def begin(self, model: Model) -> None:
        """Keep the state of the model."""
        self._kept = None
        if not model.state_in_python:
            self._kept = [TensorCopies(model, parameters=self._parameters)]
            return
        tensors = [info.tensor for info in model.parameters()]
        if any(map(is_lazy, tensors)) or (self._parameters and not fits(tensors)):
            return
        values = Tensors()
        for tensor in tensors if self._parameters else ():
            values.keep(tensor)
        self._kept = [_OwnState(model.root), values]

    def restore(self) -> bool:
        """Restore the state; return False if it was not kept."""
        for kept in self._kept or ():
            kept.restore()
        return self._kept is not None
