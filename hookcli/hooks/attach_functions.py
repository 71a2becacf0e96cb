"""From a kind's row to the function that attaches it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hookcli.catalogue.kind import Kind


def attach_function(kind: Kind) -> Any:
    """The function that the kind's row names; the row's `stage` says what it is given."""
    file, _, name = kind.attach.partition(":")
    return getattr(import_module(f"hookcli.hooks.attach.{file}"), name)
