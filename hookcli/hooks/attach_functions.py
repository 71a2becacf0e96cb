"""Finds the function that attaches hooks of a kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hookcli.catalogue.kind import Kind


def attach_function(kind: Kind) -> Any:
    """Return the function that the kind's row names; the row's `stage` defines its arguments."""
    file, _, name = kind.attach.partition(":")
    return getattr(import_module(f"hookcli.hooks.attach.{file}"), name)
