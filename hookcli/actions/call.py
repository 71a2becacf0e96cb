"""The action `call`: a function of the user's, with PyTorch's own signature or `event`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.config.hooks import CallRef


def call(argument: CallRef | dict[str, CallRef], tools: Tools) -> Callable[[Event], Any]:
    """Call the function; what it returns, if not None, takes the value's place.

    Of a pair for saved tensors the event says which is meant.
    """
    if isinstance(argument, dict):
        pack, unpack = (call(argument[name], tools) for name in ("pack", "unpack"))
        return lambda event: (unpack if event.node == "unpack" else pack)(event)
    function = tools.function(argument.function, tools.place)
    if argument.signature == "event":
        return function
    return lambda event: function(*event.arguments)
