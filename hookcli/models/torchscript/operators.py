"""The operators that are put into graphs, and what they call.

They are declared so that TorchScript neither drops, merges nor moves them (`CONSERVATIVE`), and
implemented above autograd, which therefore knows nothing of them.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import torch

from hookcli.models.scripted import OURS

_ALIASES = "CONSERVATIVE"
_KIND = "CompositeImplicitAutograd"


class Owner(Protocol):
    """Whoever put operators into graphs is told as they run. `owner` is the module that runs.

    Either function returns the values that take the place of the leaves that its site can
    replace, by their number there.
    """

    def entered(self, values: tuple[Any, ...], owner: Any, site: int) -> dict[int, Any] | None:
        """A method begins, or an operator."""
        ...

    def left(self, value: Any, owner: Any, site: int) -> dict[int, Any] | None:
        """It ends."""
        ...


class _Replaced(threading.local):
    """What takes the place of values where the operators of one site follow, on this thread."""

    def __init__(self) -> None:
        self.leaves: dict[int, Any] = {}


_replaced = _Replaced()
_owners: dict[int, Owner] = {}


def number_of(owner: Owner) -> int:
    """The number under which operators in a graph name their owner; it stays until `forget`."""
    number = max(_owners, default=-1) + 1
    _owners[number] = owner
    return number


def forget(number: int) -> None:
    """What the operators of this owner do from now on is nothing."""
    _owners.pop(number, None)


def _enter(values: Any, owner: Any, number: int, site: int) -> None:
    told = _owners.get(number)
    _replaced.leaves = (told and told.entered(values, owner, site)) or {}


def _leave(value: Any, owner: Any, number: int, site: int) -> None:
    told = _owners.get(number)
    _replaced.leaves = (told and told.left(value, owner, site)) or {}


def _swap(value: Any, leaf: int) -> Any:
    return _replaced.leaves.get(leaf, value)


SWAPS = {
    "Tensor": "swap_tensor",
    "Tensor?": "swap_optional",
    "Tensor[]": "swap_list",
    "Dict(str, Tensor)": "swap_dict",
}
_library: Any = torch.library.Library(OURS, "DEF")  # type: ignore[no-untyped-call]


def _define(name: str, signature: str, function: Any) -> None:
    _library.define(f"{name}{signature}", alias_analysis=_ALIASES)
    _library.impl(name, function, _KIND)


_define("enter", "(Any values, Any owner, int number, int site) -> ()", _enter)
_define("leave", "(Any value, Any owner, int number, int site) -> ()", _leave)
for _type, _name in SWAPS.items():
    _define(_name, f"({_type} value, int leaf) -> {_type}", _swap)
