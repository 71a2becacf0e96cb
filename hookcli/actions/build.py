"""From an action as it was configured to the code that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookcli.actions import change, observe
from hookcli.actions.call import call
from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.spec.hooks import ActionSpec

_BUILDERS: dict[str, Callable[[Any, Tools], Callable[[Event], Any]]] = {
    "record": observe.record,
    "stats": observe.stats,
    "print": observe.print_,
    "save": observe.save,
    "assert_finite": observe.assert_finite,
    "breakpoint": observe.breakpoint_,
    "scale": change.scale,
    "add_noise": change.add_noise,
    "clamp": change.clamp,
    "clip_norm": change.clip_norm,
    "zero": change.zero,
    "negate": change.negate,
    "replace": change.replace,
    "call": call,
}


def build(spec: ActionSpec, tools: Tools) -> Callable[[Event], Any]:
    """The function that does this action; what it returns, if not None, is the new value.

    Raises
    ------
    RequestError : its argument does not name what is there.
    """
    return _BUILDERS[spec.name](spec.argument, tools)
