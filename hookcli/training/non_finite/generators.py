"""The states of the random generators when a forward begins, so that it can be repeated.

No number is drawn. Reading a state copies it: 2 µs for torch's on the CPU, but 15 µs for Python's
and 100 µs for NumPy's, whose public functions convert each word. NumPy's is therefore copied as
bytes, and both only if a module of the root is defined in a file that imports them.
"""

from __future__ import annotations

import ctypes
import random
import sys
from dataclasses import dataclass
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

_METHODS = {BuiltinMethodType, MethodType}
_STATE_OF_MT19937 = 624 * 4 + 4  # its words and the position of the next one


@dataclass(slots=True)
class Generators:
    """The states of generators. `modules` are those of generators that modules own."""

    cpu: torch.Tensor | None = None
    devices: tuple[tuple[torch.Generator, torch.Tensor], ...] = ()
    modules: tuple[tuple[torch.Generator, torch.Tensor], ...] = ()
    python: tuple[Any, ...] | None = None
    numpy: bytes | None = None

    def restore(self) -> None:
        """Restore the states."""
        if self.cpu is not None:
            torch.default_generator.set_state(self.cpu)
        for generator, state in (*self.devices, *self.modules):
            generator.set_state(state)
        if self.python is not None:
            random.setstate(self.python)
        address = _numpy_address()
        if self.numpy is not None and address is not None:
            ctypes.memmove(address, self.numpy, len(self.numpy))


class GeneratorKeeper:
    """Reads the states of the generators that the forward of a root may use."""

    def __init__(self, root: nn.Module) -> None:
        modules = list(root.modules())
        self._own = [
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, torch.Generator)
        ]
        sources = {type(module).__module__ for module in modules}
        self._python = any(_uses(name, random) for name in sources)
        numpy = sys.modules.get("numpy")
        self._numpy = numpy is not None and any(_uses(name, numpy) for name in sources)
        devices = {tensor.device for tensor in (*root.parameters(), *root.buffers())}
        self._cuda = sorted(device.index or 0 for device in devices if device.type == "cuda")
        self._is_simple = not (self._cuda or self._own or self._python or self._numpy)

    def keep(self) -> Generators:
        """Return the states as they are now."""
        if self._is_simple:
            return Generators(torch.default_generator.get_state())
        devices = [torch.cuda.default_generators[i] for i in self._cuda]
        if devices and torch.cuda.is_current_stream_capturing():
            devices = []  # their states cannot be read
        return Generators(
            torch.default_generator.get_state(),
            tuple((generator, generator.get_state()) for generator in devices),
            tuple((generator, generator.get_state()) for generator in self._own),
            random.getstate() if self._python else None,
            _numpy_state() if self._numpy else None,
        )


def _uses(name: str, library: ModuleType) -> bool:
    """Return whether a module of Python has a name for a library, or for one of its generators."""
    if name.partition(".")[0] == "torch":
        return False
    for value in list(vars(sys.modules.get(name, object)).values()):
        if type(value) is ModuleType and value.__name__.partition(".")[0] == library.__name__:
            return True
        if type(value) in _METHODS:
            owner = type(value.__self__)
            if owner.__module__.partition(".")[0] == library.__name__:
                return True
    return False


def _numpy_address() -> int | None:
    """Return the address of the state of NumPy's generator; None if it is of an unknown kind."""
    numpy = sys.modules.get("numpy")
    get = getattr(getattr(numpy, "random", None), "get_bit_generator", None)
    generator: Any = None if get is None else get()
    if type(generator).__name__ != "MT19937":
        return None
    address: int | None = generator.ctypes.state_address
    return address


def _numpy_state() -> bytes | None:
    address = _numpy_address()
    return None if address is None else ctypes.string_at(address, _STATE_OF_MT19937)
