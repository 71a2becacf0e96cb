"""The type of each module, and the plain values that it was constructed with."""

from __future__ import annotations

import math
from types import BuiltinFunctionType, FunctionType
from typing import Any

from torch import nn

from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.models import module_tree
from hookcli.models.model import Model
from hookcli.models.scripted import is_scripted, type_of
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

PROBE = "module_settings"
_LONGEST = 8  # items of a tuple or list
_LARGEST = 1 << 31  # an integer beyond it may be an identity, which differs in the next run
# What torch itself sets.
_NOT_SETTINGS = frozenset({"training", "call_super_init", "dump_patches"})
_NOT_PLAIN = object()


class AttributeWatcher(ProbeWatcher):
    """Looks at the attributes of all modules before the model runs."""

    def __init__(self) -> None:
        self.measurements = []

    def begin(self, model: Model) -> None:
        """Add a measurement for each name of each module."""
        self.measurements = [
            Measurement(PROBE, name, None, {**described(module), "place": model.place(name)}, None)
            for name, module in module_tree.named(model.root)
        ]


def described(module: nn.Module) -> dict[str, Any]:
    """Return the type of a module and its settings, without running code of the module.

    Settings are its own public attributes: numbers, and tuples or lists of these; for modules of
    torch also strings, None and functions, by their names. Strings of other modules are left out,
    as they may be paths of a machine.
    """
    if is_scripted(module):
        return {"type": type_of(module), "settings": {}}
    of_torch = type(module).__module__.startswith("torch.")
    settings = {}
    for name, value in vars(module).items():
        if name.startswith("_") or name in _NOT_SETTINGS:
            continue
        plain = _plain(value, words=of_torch)
        if plain is not _NOT_PLAIN:
            settings[name] = plain
    return {"type": type_of(module), "settings": settings}


def _plain(value: Any, *, words: bool) -> Any:
    """Return a value as JSON has it; `_NOT_PLAIN` if it is no setting."""
    kind = type(value)
    if kind is bool:
        return value
    if kind is int:
        return value if abs(value) < _LARGEST else _NOT_PLAIN
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind in {tuple, list}:
        if len(value) > _LONGEST:
            return _NOT_PLAIN
        items = [_plain(item, words=words) for item in value]
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in items) else items
    if words and (kind is str or value is None):
        return value
    if words and kind in {FunctionType, BuiltinFunctionType}:
        return value.__name__
    return _NOT_PLAIN


def observe(_requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher that looks at the settings of modules."""
    return [AttributeWatcher()]
