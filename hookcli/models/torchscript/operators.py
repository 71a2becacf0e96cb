"""The operators that are added to graphs, and what they call.

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
    """The owner of operators in graphs, which is called as they run. `owner` is the running module.

    Both functions return the new values of the leaves that the site can replace, by their number.
    """

    def entered(self, values: tuple[Any, ...], owner: Any, site: int) -> dict[int, Any] | None:
        """A method begins, or an operator."""
        ...

    def left(self, value: Any, owner: Any, site: int) -> dict[int, Any] | None:
        """It ends."""
        ...


class _Replaced(threading.local):
    """The new values for the operators of one site that run next, on this thread."""

    def __init__(self) -> None:
        self.leaves: dict[int, Any] = {}


_replaced = _Replaced()
_owners: dict[int, Owner] = {}


def number_of(owner: Owner) -> int:
    """Return the number by which operators in a graph find their owner, until `forget`."""
    number = max(_owners, default=-1) + 1
    _owners[number] = owner
    return number


def forget(number: int) -> None:
    """Make the operators of this owner do nothing from now on."""
    _owners.pop(number, None)


def _enter(values: Any, owner: Any, number: int, site: int) -> None:
    listener = _owners.get(number)
    _replaced.leaves = (listener and listener.entered(values, owner, site)) or {}


def _leave(value: Any, owner: Any, number: int, site: int) -> None:
    listener = _owners.get(number)
    _replaced.leaves = (listener and listener.left(value, owner, site)) or {}


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
