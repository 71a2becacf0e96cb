"""Lines of the user's source in a scripted module, which its graphs keep."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.models.model import Call
from hookcli.models.torchscript.graphs import nodes_of

_FILE = re.compile(r'File "(.{1,4096}?)", line (\d+)')


def line_of(node: Any) -> tuple[str, int] | None:
    """Return the file and line that a node was made from."""
    match = _FILE.search(node.sourceRange())
    return None if match is None else (match[1], int(match[2]))


def place_of(node: Any) -> str | None:
    """Return the user's line of a node; None if it is torch's own or not known."""
    location = line_of(node)
    if (
        location is None
        or not places.is_user(location[0])
        or location[0].startswith("code/__torch__")
    ):
        return None
    return f"{places.show(location[0])}:{location[1]}"


class Lines:
    """The lines at which each module calls its children."""

    def __init__(self, root: nn.Module) -> None:
        self._lines: dict[tuple[int, int], list[str | None]] = {}
        self._seen: dict[int, dict[int, int]] = {}  # by the caller's order: calls of each child
        known: dict[str, list[tuple[tuple[str, ...], str | None]]] = {}
        for module in root.modules():
            if not isinstance(module, torch.jit.ScriptModule):
                continue
            kind = str(module._c._type())
            if kind not in known:
                known[kind] = list(_calls_in(module))
            for path, place in known[kind]:
                child = _at(module, path)
                if child is not None:
                    self._lines.setdefault((id(module), id(child)), []).append(place)

    def place(self, caller: Call | None, module: nn.Module) -> str | None:
        """Return the line at which `caller` calls this module; the caller's own in torch's code."""
        if caller is None:
            return None
        lines = self._lines.get((caller.key, id(module)))
        if not lines:
            return caller.place
        counts = self._seen.setdefault(caller.order, {})
        count = counts.get(id(module), 0)
        counts[id(module)] = count + 1
        return lines[min(count, len(lines) - 1)] or caller.place


def _calls_in(module: Any) -> list[tuple[tuple[str, ...], str | None]]:
    """Return the calls of children in a module's methods: the path to the child, and the line."""
    calls = []
    for method in module._c._method_names():
        for node in nodes_of(module._c._get_method(method).graph):
            if node.kind() == "prim::CallMethod":
                path = _path(node.inputsAt(0).node())
                if path:
                    calls.append((path, place_of(node)))
    return calls


def _path(node: Any) -> tuple[str, ...]:
    """Return the attributes from `self` to a value: (layers, 0) for self.layers.0."""
    names: list[str] = []
    while node.kind() == "prim::GetAttr":
        names.insert(0, node.s("name"))
        node = node.inputsAt(0).node()
    return tuple(names)


def _at(module: Any, path: tuple[str, ...]) -> nn.Module | None:
    for name in path:
        children: Any = module._modules  # of torch: it has no `get`
        child = children[name] if name in children else None  # noqa: SIM401
        if child is None:
            return None
        module = child
    return module  # type: ignore[no-any-return]
