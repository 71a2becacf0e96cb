"""Errors become three lines and an exit status."""

from __future__ import annotations

import os
from collections.abc import Callable

from hookcli.cli.help.next_command import with_command
from hookcli.console import Console, stdout_is_closed
from hookcli.errors import (
    BugError,
    HookcliError,
    InterruptedRun,
    RequestError,
    Status,
    interruption_behind,
)
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


def _unusable(error: OSError) -> RequestError:
    """Return the error for a file that the system refuses, or for stdout if it names no file."""
    why = error.strerror or str(error)
    if error.filename is None:
        hint = "check that the disk is not full, or write to another place with `-o FILE`"
        return RequestError(f"cannot write stdout: {why}", place="stdout", hint=hint)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    hint = "check the name, and the permissions of its folders"
    return RequestError(f"cannot access {name}: {why}", place=str(name), hint=hint)


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
    except HookcliError as error:
        console.error(with_command(error))
        return error.status
    except BrokenPipeError:  # typer would exit with status 1
        raise InterruptedRun(Status.CLOSED_STDOUT) from None
    except OSError as error:
        refused = _unusable(error)
        console.error(refused)
        return refused.status
    except Exception as error:  # noqa: BLE001  # whatever is left is a bug of hookcli
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        bug = BugError(
            hookcli_failed(f"{type(error).__name__}: {error}"),
            place=f"{last.filename}:{last.lineno}",
            hint=BUG_HINT,
            details="".join(traceback.format_exception(error)),
        )
        console.error(bug)
        return bug.status
