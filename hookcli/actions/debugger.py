"""The action `breakpoint`: Python's debugger, at the user's terminal or in the user's process."""

from __future__ import annotations

import os
import pdb
from collections.abc import Callable
from typing import Any, Literal, TextIO

from torch.utils._python_dispatch import _disable_current_modes

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.errors import LeftDebugger
from hookcli.spec.request import Terminal


def breakpoint_(_argument: None, tools: Tools) -> Callable[[Event], None]:
    """Open the debugger with `event` at hand.

    In the user's own process it reads and writes where `pdb` does. In a worker, which has no
    standard input, it does so at the user's terminal, and leaving it ends the run.
    """
    trusted = not tools.data_only  # a .pdbrc in the working folder is code
    own = None
    if tools.terminal is not None:
        own = Debugger(tools.terminal, tools.place, readrc=trusted)

    def do(event: Event) -> None:
        debugger = pdb.Pdb(readrc=trusted) if own is None else own  # on the streams as they are now
        debugger.set_trace()
        _ = event  # the debugger stops here, after set_trace has returned

    return do


class Debugger(pdb.Pdb):
    """Python's debugger at a terminal of another session. The parent learns when it asks.

    Without readline, which wants the standard streams: the terminal itself edits lines.
    """

    def __init__(self, terminal: Terminal, place: str, *, readrc: bool) -> None:
        keyboard, screen = _stream(terminal.screen, "r"), _stream(terminal.screen, "w")
        # Ctrl-C is the parent's while the model runs: the debugger's own handler stays out.
        super().__init__(stdin=keyboard, stdout=screen, nosigint=True, readrc=readrc)
        self._prompt_fd = terminal.prompt
        self._place = place
        self._screen = screen
        self._left = False

    def interaction(self, *given: Any) -> None:
        """Ask for commands until one goes on. Hooks of operators do not see what is typed.

        Raises
        ------
        LeftDebugger : the user left it.
        """
        before = os.pread(self._prompt_fd, 1, 0)
        os.pwrite(self._prompt_fd, b"\1", 0)
        try:
            with _disable_current_modes():
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
        """End the run, on a line of its own."""
        self.message("")
        return self.do_quit(arg)


def _stream(fd: int, mode: Literal["r", "w"]) -> TextIO:
    """One direction of the terminal; it stays open as long as the process."""
    return os.fdopen(fd, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
