"""What hookcli needs of the process, and a model can replace: builtins, modules, functions.

It is restored after a run, so that the report or the error can be sent; functions of torch are
only compared. The error of a run that failed names what the model replaced. Nothing is restored
while the model runs.
"""

from __future__ import annotations

import builtins
import json
import os
import pickle
import struct
import sys
import time
import traceback
from collections.abc import Iterator
from types import ModuleType
from typing import Any

# Namespaces whose functions hookcli calls, with the name to show.
_NAMESPACES: tuple[tuple[str, Any], ...] = (
    ("json", json),
    ("json.JSONEncoder", json.JSONEncoder),
    ("os", os),
    ("pickle", pickle),
    ("struct", struct),
    ("time", time),
    ("traceback", traceback),
)
# Namespaces of torch that hookcli and torch itself use in a run. They are not restored.
_OF_TORCH = ("torch", "torch.nn.functional", "torch.autograd", "torch.utils")
_OF_TENSORS = ("device", "dtype", "grad", "grad_fn", "numel", "requires_grad", "shape")


class ProcessState:
    """The builtins, modules, path and functions of the process as they are now.

    `restore` uses no builtin function before it has restored the builtins.
    """

    def __init__(self) -> None:
        self._builtins = builtins.__dict__
        self._saved_builtins = [*builtins.__dict__.items()]
        self._modules = sys.modules
        self._saved_modules = [*sys.modules.items()]
        self._path = [*sys.path]
        self._mark: dict[str, list[int]] = {"mark": [1]}
        self._torch = tuple(  # a tuple cannot be cleared
            (label, space, tuple(vars(space).items())) for label, space in _spaces_of_torch()
        )
        self._functions = [
            (label, space, name, value)
            for label, space in _NAMESPACES
            for name, value in vars(space).items()
            if callable(value) and not name.startswith("__")
        ]

    def restore(self) -> tuple[str, ...]:
        """Restore what was replaced or removed; return its names, such as "isinstance"."""
        changed: list[str] = []
        for name, value in self._saved_builtins:
            if self._builtins.get(name, self) is not value:
                self._builtins[name] = value
                if name != "_":  # what the interactive prompt displayed last
                    changed.append(name)
        changed += self._restore_modules()
        for label, space, name, value in self._functions:
            if vars(space).get(name, self) is not value:
                setattr(space, name, value)
                changed.append(f"{label}.{name}")
        return (*changed, *_lost_attributes())

    def leave_mark(self) -> None:
        """Make a dictionary that a model finds if it changes what `gc.get_objects` returns.

        What exists before `gc.freeze` is not returned. A mark that is changed already stays.
        """
        if not self.is_cleared:
            self._mark = {"mark": [1]}

    @property
    def is_cleared(self) -> bool:
        """Whether the model changed dictionaries or lists that it found by `gc.get_objects`."""
        return self._mark != {"mark": [1]}

    def changed_of_torch(self) -> tuple[str, ...]:
        """Return the names of functions and modules of torch that are something else now."""
        return tuple(
            f"{label}.{name}"
            for label, space, items in self._torch
            for name, value in items
            if (now := vars(space).get(name)) is not value
            and (callable(value) or isinstance(value, ModuleType))
            and not str(getattr(now, "__module__", "")).startswith(("torch.", "hookcli."))
        )

    def _restore_modules(self) -> list[str]:
        changed = []
        if sys.modules is not self._modules:
            sys.modules = self._modules
            changed.append("sys.modules")
        lost = [(name, module) for name, module in self._saved_modules if name not in sys.modules]
        if lost:
            sys.modules.update(lost)
            changed.append("sys.modules")
        if type(sys.path) is not list:
            sys.path = self._path
            changed.append("sys.path")
        return [*dict.fromkeys(changed)]


def _spaces_of_torch() -> Iterator[tuple[str, Any]]:
    """Each namespace that exists: the import of torch may have failed."""
    for name in _OF_TORCH:
        if name in sys.modules:
            yield name, sys.modules[name]
    if "torch.nn" in sys.modules:
        yield "torch.nn.Module", sys.modules["torch.nn"].Module


def _lost_attributes() -> list[str]:
    """Remove what hides attributes of tensors, as `torch.Tensor.shape = None` does."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if not isinstance(kind, type):
        return []
    hidden = [name for name in _OF_TENSORS if vars(kind).get(name, kind) is None]
    for name in hidden:
        delattr(kind, name)
    return [f"torch.Tensor.{name}" for name in hidden]
