"""Errors, also of typer's usage, → three lines and an exit status."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection
from typing import Any

from hookcli.console import Console, stdout_is_closed
from hookcli.errors import BugError, HookcliError, InterruptedRun, RequestError, Status
from hookcli.rules.verdict import Verdict
from hookcli.text import nearest, try_instead

_STATUS = {
    Verdict.PASSED: Status.FINE,
    Verdict.FINDINGS: Status.FINDINGS,
    Verdict.NOT_JUDGED: Status.MODEL,
    Verdict.MODEL_FAILED: Status.MODEL,
}


def exit_status(verdict: Verdict) -> Status:
    """The exit status of a command whose report comes to this."""
    return _STATUS[verdict]


def watch_stdout() -> None:
    """End the command once nobody reads its stdout.

    Raises
    ------
    InterruptedRun : nobody does.

    """
    if stdout_is_closed():
        raise InterruptedRun(Status.CLOSED_STDOUT)


def _unusable(error: OSError) -> RequestError:
    """A file that was named, and that the system does not let be looked at; else stdout."""
    why = error.strerror or str(error)
    if error.filename is None:
        hint = "is the disk full? write elsewhere with -o FILE"
        return RequestError(f"stdout cannot be written: {why}", place="stdout", hint=hint)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    hint = "check the name, and the permissions of its folders"
    return RequestError(f"{name} cannot be used: {why}", place=str(name), hint=hint)


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
        refused = _unusable(error)
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


_OTHERS = re.compile(r"\.? (?:\(Possible options: |\(?Did you mean:? )([^)?]+)[)?]+")
_CHOICE = re.compile(r"'([^']*)' is not one of ('.*')")
_WORDS = (
    ("Value error, ", ""),
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    ("Input should be", "it should be"),
)


def usage_error(error: Any, arguments: list[str], commands: Collection[str]) -> RequestError:
    """The error of a command line that typer refused."""
    message = " ".join(str(error.format_message()).split())
    guess = _meant(message)
    message = _OTHERS.sub("", message).rstrip(".")
    for word, ours in _WORDS:
        message = message.replace(word, ours)
    command = ["hookcli", *(argument for argument in arguments[:1] if argument in commands)]
    return RequestError(
        message[:1].lower() + message[1:],
        place=shlex.join(["hookcli", *arguments]),
        hint=try_instead(guess, f"see {' '.join(command)} --help"),
    )


def _meant(message: str) -> str | None:
    """What was likely meant, of what typer or the message itself names."""
    choice = _CHOICE.search(message)
    if choice is not None:
        return nearest(choice[1], re.findall(r"'([^']*)'", choice[2]))
    others = _OTHERS.search(message)
    if others is None:
        return None
    named = [name.strip("' ") for name in others[1].split(",")]
    word = re.split(r"[ :]+", message[: others.start()])[-1].strip("'.")
    return nearest(word, named) or named[0]
