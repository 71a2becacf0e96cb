"""Runs a command once, or again and again with `--watch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookcli.cli.errors import reporting

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags, WatchFlags
    from hookcli.console import Console


def run_command(
    flags: WatchFlags, output: OutputFlags, console: Console, command: Callable[[], int]
) -> int:
    """Return the exit status of a command.

    Raises
    ------
    InterruptedRun : a signal arrived, or stdout was closed. With --watch nothing else ends it.
    """
    if not flags.watch:
        return reporting(console, command)
    from hookcli.cli.watch.loop import watch

    return reporting(console, lambda: watch(output, console, command))
