"""The action `breakpoint`: Python's debugger, at the user's terminal or in the user's process."""

from __future__ import annotations

import os
import pdb
from collections.abc import Callable
from typing import Any, Literal, TextIO

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.errors import LeftDebugger
from hookcli.spec.request import Terminal
from hookcli.torch_private import disable_current_modes


def breakpoint_(_argument: None, tools: Tools) -> Callable[[Event], None]:
    """Open the debugger, with `event` as a local variable.

    In the user's own process it uses the same streams as `pdb`. In a worker, which has no standard
    input, it uses the user's terminal, and quitting the debugger ends the run.
    """
    trusted = not tools.data_only  # a .pdbrc in the working folder is code
    own = None
    if tools.terminal is not None:
        own = Debugger(tools.terminal, tools.place, readrc=trusted)

    def do(event: Event) -> None:
        debugger = pdb.Pdb(readrc=trusted) if own is None else own  # with the current streams
        debugger.set_trace()
        _ = event  # the debugger stops on this line, after set_trace has returned

    return do


class Debugger(pdb.Pdb):
    """Python's debugger at a terminal of another session. It tells the parent when it asks.

    It does not use readline, which requires the standard streams. The terminal edits lines itself.
    """

    def __init__(self, terminal: Terminal, place: str, *, readrc: bool) -> None:
        keyboard, screen = _stream(terminal.screen, "r"), _stream(terminal.screen, "w")
        # While the model runs, the parent handles Ctrl-C, so the debugger's handler is off.
        super().__init__(stdin=keyboard, stdout=screen, nosigint=True, readrc=readrc)
        self._prompt_fd = terminal.prompt
        self._place = place
        self._screen = screen
        self._left = False

    def interaction(self, *given: Any) -> None:
        """Ask for commands until one continues. Commands do not fire hooks of operators.

        Raises
        ------
        LeftDebugger : the user quit the debugger.
        """
        before = os.pread(self._prompt_fd, 1, 0)
        os.pwrite(self._prompt_fd, b"\1", 0)
        try:
            with disable_current_modes():
                super().interaction(*given)
        finally:
            self._screen.flush()
            os.pwrite(self._prompt_fd, before or b"\0", 0)
        if self._left:
            raise LeftDebugger(self._place)

    def do_quit(self, arg: str) -> bool:
        """End the run."""
        del arg
        self._left = True
        return True

    do_q = do_exit = do_quit

    def do_EOF(self, arg: str) -> bool:  # noqa: N802  # cmd's own name for Ctrl-D
        """Write a new line and end the run."""
        self.message("")
        return self.do_quit(arg)


def _stream(fd: int, mode: Literal["r", "w"]) -> TextIO:
    """Return one direction of the terminal. It stays open until the process ends."""
    return os.fdopen(fd, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
