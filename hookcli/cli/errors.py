"""Errors become three lines and an exit status."""

from __future__ import annotations

import errno
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


# What the system refuses without a file name: a file, a process or memory more.
_RAISE_FILES = "raise the limit of open files, as with `ulimit -n 1024`"
_END_PROCESSES = "end other processes, or raise the limit, as with `ulimit -u 4096`"
_FREE_SPACE = "free disk space, or set TMPDIR to another folder"
_HINTS = {
    errno.EMFILE: _RAISE_FILES,
    errno.ENFILE: _RAISE_FILES,
    errno.EAGAIN: _END_PROCESSES,
    errno.ENOMEM: "end other processes, or use a machine with more memory",
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: "raise the limit of the size of files, as with `ulimit -f unlimited`",
}


def _unusable(error: OSError) -> RequestError:
    """Return the error for what the system refuses: a file, or what has no name."""
    why = error.strerror or str(error)
    if error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        hint = "check the name, and the permissions of its folders"
        return RequestError(f"cannot access {name}: {why}", place=str(name), hint=hint)
    if why.startswith("No usable temporary directory"):
        return RequestError(
            "no folder for temporary files can be written",
            place=f"TMPDIR={os.environ.get('TMPDIR', '')}",
            hint="set TMPDIR to a folder that you can write to",
        )
    if error.errno == errno.ENOENT:  # the only call without a name that finds nothing
        return RequestError(
            "the working folder no longer exists",
            place=os.environ.get("PWD", "."),
            hint="change to an existing folder",
        )
    hint = _HINTS.get(error.errno or 0, "check the limits of this process with `ulimit -a`")
    return RequestError(f"the system refused a request: {why}", place="this process", hint=hint)


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
    if isinstance(error, OSError):
        return _unusable(error)
    if isinstance(error, MemoryError):
        return RequestError("not enough memory", place="this process", hint=_HINTS[errno.ENOMEM])
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return BugError(
        hookcli_failed(f"{type(error).__name__}: {error}"),
        place=f"{last.filename}:{last.lineno}",
        hint=BUG_HINT,
        details="".join(traceback.format_exception(error)),
    )
