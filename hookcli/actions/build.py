"""Builds the function that performs a configured action."""

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
    """Return the function that the action's row names: from (argument, tools) to the action.

    Raises
    ------
    LookupError : the code that attaches the kind performs this action itself.
    """
    if action.build is None:
        raise LookupError(action.name)
    file, _, name = action.build.partition(":")
    return cast("Builder", getattr(import_module(f"hookcli.actions.{file}"), name))


def build(spec: ActionSpec, tools: Tools) -> Callable[[Event], Any]:
    """Return the function that performs an action. If it returns a value, that is the new value.

    Raises
    ------
    RequestError : its argument names something that does not exist.
    """
    return builder_of(CATALOGUE[spec.name])(spec.argument, tools)
