"""Where `--watch` shows its results: drawn in place on a terminal, or a line for each change."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from typing import Protocol

from hookcli.cli.help.next_command import command_line, typed
from hookcli.cli.watch.ready_run import RunOutcome
from hookcli.cli.watch.result_facts import Facts, differences, in_short
from hookcli.cli.watch.watch_page import PageSize, WatchPage
from hookcli.console import Console
from hookcli.text import join_names

TERMINAL = "the size of the terminal"  # a cause beside files
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # the alternate screen, the cursor
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class Watched(Protocol):
    """Where results are shown."""

    def begin(self, causes: Sequence[str]) -> None:
        """Note that a run began, because these files changed."""

    def show(self, outcome: RunOutcome, causes: Sequence[str], dropped: Sequence[str]) -> None:
        """Show how a run ended; `dropped` are files that are no longer watched."""

    def size(self) -> PageSize | None:
        """Return the size of the terminal; None without one."""

    def close(self) -> None:
        """Leave the last result on the terminal."""


class _History:
    """What is known of the runs so far."""

    def __init__(self) -> None:
        self.count = 0
        self.facts: Facts | None = None

    def changes(self, outcome: RunOutcome) -> list[str] | None:
        """Return what differs from the last good result; None for the first."""
        before = self.facts
        if outcome.facts is None or not outcome.is_fine:
            return None
        self.facts = outcome.facts
        return None if before is None else differences(before, outcome.facts)


def dropped_text(path: str) -> str:
    """Return the sentence about a file that is no longer watched."""
    return f"{_short(path)} changes during each run: it is not watched any more"


def _short(path: str) -> str:
    """Return a path relative to the working folder, if it is in it."""
    if path == TERMINAL:
        return path
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return path if relative.startswith("..") else relative


def _after(causes: Sequence[str]) -> str:
    return f"{join_names([_short(path) for path in causes], 2)} changed" if causes else ""


class LinePrinter:
    """Prints a line for each run. What a run writes to stderr goes to stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = _History()

    def begin(self, causes: Sequence[str]) -> None:
        """Print nothing."""

    def show(self, outcome: RunOutcome, causes: Sequence[str], dropped: Sequence[str]) -> None:
        """Print what changed, in one line."""
        self._history.count += 1
        if outcome.err:
            self._console.err(outcome.err.removesuffix("\n"))
        for path in dropped:
            self._console.note(dropped_text(path))
        from hookcli.console import escape

        changes = self._history.changes(outcome)
        if not outcome.is_fine:
            text = _error_in(outcome.err) or f"exit status {outcome.status}"
        elif changes is None:
            text = in_short(outcome.facts) if outcome.facts is not None else "finished"
        else:
            text = "; ".join(changes) or "no change in the result"
        cause = _after(causes)
        line = f"{time.strftime('%H:%M:%S')} {f'{cause}: ' if cause else ''}{text}"
        self._console.out(escape(" ".join(line.split())) + "\n")

    def size(self) -> PageSize | None:
        """Return None."""
        return None

    def close(self) -> None:
        """Print nothing."""


def _error_in(text: str) -> str:
    """Return the line of an error in what a run wrote to stderr."""
    return next((line for line in text.splitlines() if line.startswith("error:")), "")


class TerminalScreen:
    """Draws the last result in place, on the alternate screen of the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = _History()
        self._table = ""
        self._command = command_line(typed())
        console.out(_ENTER)

    def begin(self, causes: Sequence[str]) -> None:
        """Say in the first line that a run began."""
        cause = f", after {_after(causes)}" if causes else ""
        head = self._head(f"running{cause}")[: self._columns()]
        self._console.out(f"{_HOME}{head}{_CLEAR_LINE}")

    def show(self, outcome: RunOutcome, causes: Sequence[str], dropped: Sequence[str]) -> None:
        """Draw how the run ended."""
        self._history.count += 1
        changes = self._history.changes(outcome)
        before = None
        if outcome.is_fine:
            before = self._table if changes is not None else None
            self._table = outcome.out
        if changes is not None:
            changes = changes or ["no change in the result"]
        notes = "".join(f"note: {dropped_text(path)}\n" for path in dropped)
        state = f"run at {time.strftime('%H:%M:%S')}"
        if cause := _after(causes):
            state = f"{state}, after {cause}"
        page = WatchPage(
            self._head(state),
            changes or [],
            self._table,
            before,
            outcome.err + notes,
            failed=not outcome.is_fine,
        )
        lines = page.lines(
            self.size(), color=self._console.colored(), unicode=self._console.unicode()
        )
        drawn = "\n".join(f"{line}{_CLEAR_LINE}" for line in lines)
        self._console.out(f"{_HOME}{drawn}{_CLEAR_BELOW}")

    def _head(self, state: str) -> str:
        return f"{self._command}  ({state}; Ctrl-C ends)"

    def _columns(self) -> int:
        return self.size().columns

    def size(self) -> PageSize:
        """Return the size of the terminal."""
        size = shutil.get_terminal_size((80, 24))
        return PageSize(size.lines, size.columns)

    def close(self) -> None:
        """Leave the alternate screen, and print the last result where the command was typed."""
        self._console.out(_LEAVE + self._table)
