"""The action `call`: a function of the user's, with PyTorch's own or the `event` signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.models.nested import map_tensors
from hookcli.spec.hooks import FunctionRef


class CalledFunction:
    """The action: calls a function with an event. `function_of` tells which function that is."""

    __slots__ = ("_do", "function")

    def __init__(self, function: Callable[..., Any], do: Callable[[Event], Any]) -> None:
        self.function, self._do = function, do

    def __call__(self, event: Event) -> Any:
        """Call the function."""
        return self._do(event)


class CalledPair:
    """A pair of functions for saved tensors: the event tells which one to call."""

    __slots__ = ("pack", "unpack")

    def __init__(self, pack: CalledFunction, unpack: CalledFunction) -> None:
        self.pack, self.unpack = pack, unpack

    def of(self, event: Event) -> CalledFunction:
        """Return the one that this event is for."""
        return self.unpack if event.node == "unpack" else self.pack

    def __call__(self, event: Event) -> Any:
        """Call the function."""
        return self.of(event)(event)


def function_of(action: Callable[[Event], Any], event: Event) -> Callable[..., Any] | None:
    """Return the user's function that an action calls; None if it is an action of hookcli's own."""
    if isinstance(action, CalledPair):
        action = action.of(event)
    return action.function if isinstance(action, CalledFunction) else None


def call(
    argument: FunctionRef | dict[str, FunctionRef], tools: Tools
) -> CalledFunction | CalledPair:
    """Call the function. If it returns a value other than None, that replaces the value."""
    if isinstance(argument, dict):
        return CalledPair(_call(argument["pack"], tools), _call(argument["unpack"], tools))
    return _call(argument, tools)


def _call(argument: FunctionRef, tools: Tools) -> CalledFunction:
    function = tools.function(argument.function, tools.place)
    if argument.signature == "event":
        return CalledFunction(function, function)
    if argument.function.startswith("torch.ops."):
        return CalledFunction(function, _operator(function))
    return CalledFunction(function, lambda event: function(*event.arguments))


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
