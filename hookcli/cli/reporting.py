"""Errors → three lines and an exit status."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.console import Console, stdout_is_closed
from hookcli.errors import BugError, HookcliError, InterruptedRun, RequestError, Status


def watch_stdout() -> None:
    """End the command once nobody reads its stdout.

    Raises
    ------
    InterruptedRun : nobody does.

    """
    if stdout_is_closed():
        raise InterruptedRun(Status.CLOSED_STDOUT)


def reporting(console: Console, command: Callable[[], int]) -> int:
    """The status of a command; its errors said in three lines."""
    try:
        return command()
    except HookcliError as error:
        console.error(error)
        return error.status
    except BrokenPipeError:  # typer would make it status 1
        raise InterruptedRun(Status.CLOSED_STDOUT) from None
    except OSError as error:
        if error.filename is not None:
            raise
        refused = RequestError(
            f"stdout cannot be written: {error.strerror}",
            place="stdout",
            hint="is the disk full? write elsewhere with -o FILE",
        )
        console.error(refused)
        return refused.status
    except Exception as error:  # noqa: BLE001  # the last resort: it is our bug
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        bug = BugError(
            f"hookcli failed: {type(error).__name__}: {error}",
            place=f"{last.filename}:{last.lineno}",
            hint="this is a bug in hookcli: please report it with the output of -v",
            details="".join(traceback.format_exception(error)),
        )
        console.error(bug)
        return bug.status
