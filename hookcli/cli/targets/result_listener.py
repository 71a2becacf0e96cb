"""Tells what a command has found to who listens: `--watch`, which compares it with the last run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookcli.formats.results import Result

_listener: Callable[[Result], None] | None = None


def listen(listener: Callable[[Result], None]) -> None:
    """Call this with each result that this process delivers from now on."""
    global _listener  # noqa: PLW0603  # one for the process, which runs one command
    _listener = listener


def tell(result: Result) -> None:
    """Tell the listener, if there is one."""
    if _listener is not None:
        _listener(result)
