"""Sentences about the operators at which the paths of gradients end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookcli.text import join_names

_NAMES = {"data": ".data", "__getitem__": "[]", "__setitem__": "[] ="}
_ENDS = {
    "detach": "{operator}{place} ends the gradient's path",
    "no_grad": "{operator}{place} records no gradients",
    "checkpoint": "{operator}{place} is reentrant, and no input of it requires grad",
    "integer": "{operator}{place} returns integers, which have no gradient",
    "operator": "{operator}{place} returns a tensor without a gradient",
    "function": "the custom function {operator}{place} returns a tensor without a gradient",
    "number": "{operator}{place} turns the tensor into Python numbers",
}


def operator(cut: Mapping[str, Any]) -> str:
    """Return the operator of a cut as a user writes it: "`detach`"."""
    name = str(cut["operator"])
    return f"`{_NAMES.get(name, name)}`" if name else f"code of {module(cut)} that is not Python"


def module(cut: Mapping[str, Any]) -> str:
    """Return the module whose code has the cut: "'encoder.3' (Block)"."""
    kind = cut["module"] or "Module"
    if cut["layer"] is None:
        return f"an unregistered {kind}"
    return f"'{cut['layer']}' ({kind})" if cut["layer"] else f"the model ({kind})"


def end(cut: Mapping[str, Any]) -> str:
    """Return how the path ends: "`detach` at net.py:41 ends the gradient's path"."""
    place = f" at {cut['place']}" if cut["place"] else ""
    if cut["operator"] and (cut["layer"] or not place):
        place += f" in {module(cut)}"
    return _ENDS[cut["kind"]].format(operator=operator(cut), place=place)


def quoted(names: Sequence[str]) -> str:
    """Return the names of parts of the model in quotes; the model itself is "the model"."""
    return join_names([f"'{name}'" if name else "the model" for name in names])
