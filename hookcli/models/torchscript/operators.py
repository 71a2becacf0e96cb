"""The operators that are added to graphs, and what they call.

They are declared so that TorchScript neither drops, merges nor moves them (`CONSERVATIVE`), and
implemented above autograd, which therefore knows nothing of them. They are implemented for dispatch
modes too: a mode would convert their values back to TorchScript's, which has no type for an empty
list, and would be inactive while hooks run.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch

from hookcli.models.scripted import OURS

_ALIASES = "CONSERVATIVE"
_KINDS = ("CompositeImplicitAutograd", "Python")


class Owner(Protocol):
    """The owner of operators in graphs, which is called as they run. `owner` is the running module.

    A call has a number, which the operator at its start returns and those after it get: a call may
    end on another thread than the one on which it began.
    """

    def entered(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """A method begins, or an operator. Return the number of the call."""
        ...

    def left(self, value: Any, owner: Any, site: int, call: int) -> None:
        """It ends."""
        ...

    def begun(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """A call begins with the file's own hooks before it. Return its number."""
        ...

    def entered_call(self, values: tuple[Any, ...], owner: Any, site: int) -> int:
        """The file's own hooks before it have run, and its forward follows."""
        ...

    def ended(self, value: Any, owner: Any, site: int, call: int) -> None:
        """The file's own hooks after it have run."""
        ...

    def running(self) -> int:
        """Return the number of the innermost call on this thread."""
        ...

    def resumed(self, call: int) -> None:
        """The operators that follow on this thread belong to this call."""
        ...


NO_CALL = -1  # nobody listens
_replaced: dict[tuple[int, int], Any] = {}  # by the number of a call and of a leaf, until it runs
_owners: dict[int, Owner] = {}


def replace_leaf(call: int, leaf: int, value: Any) -> None:
    """Let the next operator for this leaf in this call return another value."""
    _replaced[call, leaf] = value


def forget_replaced() -> None:
    """Forget the values of calls that raised."""
    _replaced.clear()


def number_of(owner: Owner) -> int:
    """Return the number by which operators in a graph find their owner, until `forget`."""
    number = max(_owners, default=-1) + 1
    _owners[number] = owner
    return number


def forget(number: int) -> None:
    """Make the operators of this owner do nothing from now on."""
    _owners.pop(number, None)


def _enter(values: Any, owner: Any, number: int, site: int) -> int:
    listener = _owners.get(number)
    return NO_CALL if listener is None else listener.entered(values, owner, site)


def _leave(value: Any, owner: Any, number: int, site: int, call: int) -> None:
    listener = _owners.get(number)
    if listener is not None:
        listener.left(value, owner, site, call)


def _begin(values: Any, owner: Any, number: int, site: int) -> int:
    listener = _owners.get(number)
    return NO_CALL if listener is None else listener.begun(values, owner, site)


def _enter_call(values: Any, owner: Any, number: int, site: int) -> int:
    listener = _owners.get(number)
    return NO_CALL if listener is None else listener.entered_call(values, owner, site)


def _end(value: Any, owner: Any, number: int, site: int, call: int) -> None:
    listener = _owners.get(number)
    if listener is not None:
        listener.ended(value, owner, site, call)


def _here(number: int) -> int:
    listener = _owners.get(number)
    return NO_CALL if listener is None else listener.running()


def _resume(number: int, call: int) -> None:
    listener = _owners.get(number)
    if listener is not None:
        listener.resumed(call)


def _swap(value: Any, leaf: int, call: int) -> Any:
    return _replaced.pop((call, leaf), value) if _replaced else value


_swaps: dict[str, str] = {}  # names of operators, by the type of what they replace
_library: Any = torch.library.Library(OURS, "DEF")  # type: ignore[no-untyped-call]


def _define(name: str, signature: str, function: Any) -> None:
    _library.define(f"{name}{signature}", alias_analysis=_ALIASES)
    for kind in _KINDS:
        _library.impl(name, function, kind)


def swap_operator(type_name: str) -> str:
    """Return the name of the operator that replaces values of a type, as schemas name it."""
    name = _swaps.get(type_name)
    if name is None:
        name = _swaps[type_name] = f"swap_{len(_swaps)}"
        _define(name, f"({type_name} value, int leaf, int call) -> ({type_name})", _swap)
    return name


for _name, _function in (("enter", _enter), ("begin", _begin), ("enter_call", _enter_call)):
    _define(_name, "(Any values, Any owner, int number, int site) -> int", _function)
_define("leave", "(Any value, Any owner, int number, int site, int call) -> ()", _leave)
_define("end", "(Any value, Any owner, int number, int site, int call) -> ()", _end)
_define("here", "(int number) -> int", _here)
_define("resume", "(int number, int call) -> ()", _resume)
