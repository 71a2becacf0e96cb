"""The live view in a terminal: redrawn as entries come, until `q` or the end of all runs."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

from hookcli.cli.following.followed_run import FollowedRun
from hookcli.cli.following.run_view import render
from hookcli.console import Console, stdout_is_terminal
from hookcli.formats.view import View

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # another screen, no cursor
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_QUIT = frozenset("qQ\x03\x04")
_KEYS = "q: quit"


def is_possible() -> bool:
    """Return whether a person sees stdout and can press keys."""
    try:
        import termios  # noqa: F401  # not on Windows
    except ImportError:
        return False
    try:
        return sys.stdin.isatty() and stdout_is_terminal()
    except (AttributeError, ValueError):
        return False


@contextlib.contextmanager
def screen(console: Console) -> Iterator[None]:
    """Show another screen and read keys at once, until the end of the block."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    settings = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        console.out(_ENTER)
        yield
    finally:
        console.out(_LEAVE)
        termios.tcsetattr(keyboard, termios.TCSADRAIN, settings)


def show(
    runs: Sequence[FollowedRun],
    view: Callable[[], View],
    console: Console,
    *,
    every: float,
    updated: Callable[[], bool],
) -> None:
    """Draw the runs each `every` seconds, until somebody quits or `updated` returns False."""
    with screen(console):
        while updated():
            draw(render(runs, view()), console)
            if is_quit(every):
                return


def draw(text: str, console: Console) -> None:
    """Draw a text from the first line on, as many lines as fit."""
    height = shutil.get_terminal_size().lines
    lines = text.rstrip("\n").split("\n")[: max(1, height - 1)]
    whole = "".join(f"{line}{_CLEAR_LINE}\n" for line in lines)
    console.out(f"{_HOME}{whole}{_KEYS}{_CLEAR_LINE}{_CLEAR_BELOW}")


def is_quit(seconds: float) -> bool:
    """Wait for a key; return whether it is one that quits. A closed keyboard quits too."""
    keyboard = sys.stdin.fileno()
    ready, _, _ = select.select([keyboard], [], [], seconds)
    if not ready:
        return False
    keys = os.read(keyboard, 64).decode("ascii", "replace")
    return not keys or not _QUIT.isdisjoint(keys)
