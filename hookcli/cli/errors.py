"""Errors become three lines and an exit status."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.cli.help.next_command import with_command
from hookcli.console import Console, stdout_is_closed
from hookcli.errors import (
    BugError,
    HookcliError,
    InterruptedRun,
    Status,
    interruption_behind,
)
from hookcli.refusals import refusal
from hookcli.rules.verdict import Verdict
from hookcli.sentences import BUG_HINT, hookcli_failed

_STATUS = {
    Verdict.PASSED: Status.FINE,
    Verdict.FINDINGS: Status.FINDINGS,
    Verdict.NOT_JUDGED: Status.MODEL,
    Verdict.MODEL_FAILED: Status.MODEL,
}


def exit_status(verdict: Verdict) -> Status:
    """Return the exit status for a verdict."""
    return _STATUS[verdict]


def watch_stdout() -> None:
    """End the command if its stdout was closed.

    Raises
    ------
    InterruptedRun : stdout was closed.

    """
    if stdout_is_closed():
        raise InterruptedRun(Status.CLOSED_STDOUT)


def _interruptible(command: Callable[[], int]) -> int:
    """Return the exit status of a command; raise what a signal raised, and no error made of it."""
    try:
        return command()
    except Exception as error:
        interruption = interruption_behind(error)
        if interruption is None:
            raise
        raise interruption from None


def reporting(console: Console, command: Callable[[], int]) -> int:
    """Return the exit status of a command, and print its error in three lines.

    Raises
    ------
    InterruptedRun : a signal arrived, or stdout was closed.
    """
    try:
        return _interruptible(command)
    except BrokenPipeError:  # typer would exit with status 1
        raise InterruptedRun(Status.CLOSED_STDOUT) from None
    except Exception as error:  # noqa: BLE001  # each becomes a status
        return reported(error, console)


def reported(error: Exception, console: Console) -> int:
    """Print an error in three lines, and return its status. An unexpected one is a bug."""
    known = _as_own(error)
    console.error(known)
    return known.status


def _as_own(error: Exception) -> HookcliError:
    if isinstance(error, HookcliError):
        return with_command(error)
    if (refused := refusal(error)) is not None:
        return refused
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return BugError(
        hookcli_failed(f"{type(error).__name__}: {error}"),
        place=f"{last.filename}:{last.lineno}",
        hint=BUG_HINT,
        details="".join(traceback.format_exception(error)),
    )
