"""Actions that read a value and do not change it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import torch

from hookcli.actions.event import Event
from hookcli.actions.first_operator import FirstOperator
from hookcli.actions.output_folder import open_folder
from hookcli.actions.tools import Tools
from hookcli.models.nested import dtype_name, leaves, shape_of
from hookcli.torch_private import disable_current_modes

Do: TypeAlias = Callable[[Event], None]


class NotFiniteError(ArithmeticError):
    """The action `assert_finite` found a NaN or Inf."""


def stats(which: str | None, tools: Tools) -> Do:
    """Record the statistics of every tensor.

    With `norm` it records only the norm, if that is finite; with `histogram` also counts by value.
    """
    measures = {"norm": tools.norm, "histogram": tools.histogram}
    figures = tools.statistics if which is None else measures[which]

    def do(event: Event) -> None:
        event.measured = leaves(event.value)
        event.stats = {path: figures(t) for path, t, _ in event.measured}

    return do


def record(_argument: None, _: Tools) -> Do:
    """Record only what every firing records."""
    return lambda _event: None


def print_(_argument: None, tools: Tools) -> Do:
    """Print a line for each tensor: its values if they are few, else its statistics."""

    def do(event: Event) -> None:
        head = f"[{event.seq}] {event.phase} {event.kind} {event.target or '(root)'}"
        if event.call:
            head += f" call {event.call}"
        if event.node is not None:
            head += f" {event.node}"
        tensors = leaves(event.value)
        for path, tensor, _ in tensors:
            name = f" {path}" if path else ""
            text = f"{head}{name} {dtype_name(tensor.dtype)}{list(shape_of(tensor))}"
            tools.say(text + _values(tensor, tools))
        if not tensors:
            tools.say(head)

    return do


_FEW = 8  # numbers that fit on a line
_FIGURES = ("norm", "mean", "std", "min", "max")
_COUNTS = ("zeros", "nans", "infs")


def _values(tensor: torch.Tensor, tools: Tools) -> str:
    """Return the tensor's values if they are few, else its statistics; "" without values."""
    figures = tools.statistics(tensor)
    if figures is None:
        return ""
    if tensor.layout is torch.strided and 0 < tensor.numel() <= _FEW:
        with torch.no_grad(), disable_current_modes():
            return f" = {_list(tensor.detach().tolist())}"
    shown = {name: figures[name] for name in _FIGURES}
    shown |= {name: figures[name] for name in _COUNTS if figures[name]}
    return "".join(f" {name}={_short(value)}" for name, value in shown.items())


def _list(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_list, value))}]"
    return _short(value)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def assert_finite(_argument: None, tools: Tools) -> Do:
    """Raise at the first NaN or Inf; of operators, at the first that made it."""
    operators = FirstOperator()

    def do(event: Event) -> None:
        if event.operator is not None:
            found = operators.look(event.operator, event.step)
            if found is not None:
                raise NotFiniteError(f"{found} ({tools.place})")
            return
        for path, tensor, _ in leaves(event.value):
            figures = tools.statistics(tensor)
            if figures is None or not (figures["nans"] or figures["infs"]):
                continue
            raise NotFiniteError(
                f"{event.target}{path} contains {figures['nans']} NaN and {figures['infs']} Inf in "
                f"{event.kind}, call {event.call}, step {event.step} ({tools.place})"
            )

    return do


def _encodable(text: str) -> str:
    """Return the text with lone surrogates as escapes, because no file can contain them."""
    return text.encode(errors="backslashreplace").decode()


def _key(path: str, taken: Collection[str]) -> str:
    """Return the name of a tensor in a file: its path, or "value" for a single tensor."""
    plain = _encodable(path)
    key = plain.lstrip(".") or "value"
    while key in taken or key == "__metadata__":  # reserved by the format
        key = plain = f".{plain}"
    return key


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def save(directory: str | None, tools: Tools) -> Do:
    """Write the tensors of each firing to one file. The names sort in firing order.

    Raises
    ------
    RequestError : the directory cannot be created, or --data-only does not allow writing to it.
    """
    folder = open_folder(directory or "hookcli-saved", tools)

    def do(event: Event) -> None:
        with torch.no_grad(), disable_current_modes():
            tensors: dict[str, torch.Tensor] = {}
            for path, t, _ in leaves(event.value):
                tensors[_key(path, tensors)] = t.detach().to_dense().contiguous().clone()
        parts = [f"{event.seq:07d}", event.phase, event.kind, event.target or "model"]
        if event.call is not None:
            parts.append(f"call{event.call}")
        name = _UNSAFE.sub("_", "-".join(parts))[:200]
        if tools.rank:  # ranks count the same events, so their files would have the same names
            name += f"-rank{tools.rank}"
        if tensors:
            folder.write(f"{name}.safetensors", tensors, {"target": _encodable(event.target)})

    return do
