"""The backend for a live module: TorchScript's if any part of it is scripted, else eager."""

from __future__ import annotations

from torch import nn

from hookcli.models import module_tree, places
from hookcli.models.eager import EagerModel
from hookcli.models.model import Model
from hookcli.models.scripted import is_scripted


def backend_of(root: nn.Module, *, constructors: places.Constructors | None = None) -> Model:
    """Return the module as a `Model`."""
    if any(is_scripted(module) for module, _ in module_tree.modules(root)):
        from hookcli.models.torchscript.model import ScriptedModel

        return ScriptedModel(root, constructors=constructors)
    return EagerModel(root, constructors=constructors)
