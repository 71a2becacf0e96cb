"""Actions that look at a value and leave it as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import torch
from torch.utils._python_dispatch import _disable_current_modes

from hookcli.actions.event import Event
from hookcli.actions.output_folder import open_folder
from hookcli.actions.tools import Tools
from hookcli.models.nested import dtype_name, leaves, shape_of

Do: TypeAlias = Callable[[Event], None]


class NotFiniteError(ArithmeticError):
    """A NaN or Inf where `assert_finite` stands."""


def stats(which: str | None, tools: Tools) -> Do:
    """Note the figures of every tensor; with `norm`, that one, and all where it is not finite."""
    figures = tools.norm if which == "norm" else tools.statistics

    def do(event: Event) -> None:
        event.stats = {path: figures(t) for path, t, _ in leaves(event.value)}

    return do


def record(_argument: None, _: Tools) -> Do:
    """Note nothing but what every firing notes."""
    return lambda _event: None


def print_(_argument: None, tools: Tools) -> Do:
    """Print what fired, a line for each tensor: its values where they are few, else figures."""

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
    """The tensor's values where they are few, else its figures; nothing where it has none."""
    figures = tools.statistics(tensor)
    if figures is None:
        return ""
    if tensor.layout is torch.strided and 0 < tensor.numel() <= _FEW:
        with torch.no_grad(), _disable_current_modes():
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
    """Raise at the first NaN or Inf."""

    def do(event: Event) -> None:
        for path, tensor, _ in leaves(event.value):
            figures = tools.statistics(tensor)
            if figures is None or not (figures["nans"] or figures["infs"]):
                continue
            raise NotFiniteError(
                f"{event.target}{path} has {figures['nans']} NaN and {figures['infs']} Inf in "
                f"{event.kind}, call {event.call}, step {event.step} ({tools.place})"
            )

    return do


def _encodable(text: str) -> str:
    """The text with lone surrogates, which no file can hold, spelled out."""
    return text.encode(errors="backslashreplace").decode()


def _key(path: str, taken: Collection[str]) -> str:
    """The name of a tensor in a file: its path, or "value" of a tensor that stands alone."""
    plain = _encodable(path)
    key = plain.lstrip(".") or "value"
    while key in taken or key == "__metadata__":  # which the format keeps for itself
        key = plain = f".{plain}"
    return key


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def save(directory: str | None, tools: Tools) -> Do:
    """Write each firing's tensors to one file; names sort in the order of firing.

    Raises
    ------
    RequestError : the directory cannot be made, or with --data-only is not to be written to.
    """
    folder = open_folder(directory or "hookcli-saved", tools)

    def do(event: Event) -> None:
        with torch.no_grad(), _disable_current_modes():
            tensors: dict[str, torch.Tensor] = {}
            for path, t, _ in leaves(event.value):
                tensors[_key(path, tensors)] = t.detach().to_dense().contiguous().clone()
        parts = [f"{event.seq:07d}", event.phase, event.kind, event.target or "model"]
        if event.call is not None:
            parts.append(f"call{event.call}")
        name = _UNSAFE.sub("_", "-".join(parts))[:200]
        if tools.rank:  # ranks count alike: without it they would write over each other's files
            name += f"-rank{tools.rank}"
        if tensors:
            folder.write(f"{name}.safetensors", tensors, {"target": _encodable(event.target)})

    return do
