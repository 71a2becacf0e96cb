"""From an action as it was configured to the code that does it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.catalogue.actions import CATALOGUE, Action
from hookcli.spec.hooks import ActionSpec

Builder = Callable[[Any, Tools], Callable[[Event], Any]]


def builder_of(action: Action) -> Builder:
    """The function that the action's row names: from (argument, tools) to what is done.

    Raises
    ------
    LookupError : what attaches the kind does this action.
    """
    if action.build is None:
        raise LookupError(action.name)
    file, _, name = action.build.partition(":")
    return cast("Builder", getattr(import_module(f"hookcli.actions.{file}"), name))


def build(spec: ActionSpec, tools: Tools) -> Callable[[Event], Any]:
    """The function that does this action; what it returns, if not None, is the new value.

    Raises
    ------
    RequestError : its argument does not name what is there.
    """
    return builder_of(CATALOGUE[spec.name])(spec.argument, tools)
