"""The action `call`: a function of the user's, with PyTorch's own or the `event` signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.models.nested import map_tensors
from hookcli.spec.hooks import FunctionRef


def call(argument: FunctionRef | dict[str, FunctionRef], tools: Tools) -> Callable[[Event], Any]:
    """Call the function. If it returns a value other than None, that replaces the value.

    For a pair for saved tensors, the event tells which function to call.
    """
    if isinstance(argument, dict):
        pack, unpack = (call(argument[name], tools) for name in ("pack", "unpack"))
        return lambda event: (unpack if event.node == "unpack" else pack)(event)
    function = tools.function(argument.function, tools.place)
    if argument.signature == "event":
        return function
    if argument.function.startswith("torch.ops."):
        return _operator(function)
    return lambda event: function(*event.arguments)


def _operator(function: Callable[..., Any]) -> Callable[[Event], Any]:
    """Call a compiled operator with each tensor of the value: it does not accept a module."""

    def do(event: Event) -> Any:
        replaced = False

        def apply(tensor: torch.Tensor) -> Any:
            nonlocal replaced
            new = function(tensor)
            replaced |= new is not None
            return tensor if new is None else new

        value = map_tensors(event.value, apply)
        return value if replaced else None

    return do
