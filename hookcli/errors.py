"""The errors that a user can meet. Each carries the exit status that the command ends with."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import IntEnum
from types import TracebackType


class Status(IntEnum):
    """What the command's exit status means."""

    FINE = 0
    FINDINGS = 1
    REQUEST = 2
    MODEL = 3
    BUG = 4
    INTERRUPTED = 130
    CLOSED_STDOUT = 141
    TERMINATED = 143


class HookcliError(Exception):
    """Something that ends the command, said in three lines.

    Parameters
    ----------
    message : what is wrong, one sentence without a final period.
    place : where: a file and line, or the flag or argument as it was typed.
    hint : what to do about it.

    """

    status = Status.BUG

    def __init__(self, message: str, *, place: str, hint: str, details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place if place.strip() else repr(place)  # an empty argument as it was typed
        self.hint = hint
        self.details = details  # a traceback, shown with -v

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.place, self.hint, self.details)


def _rebuild(
    kind: type[HookcliError], message: str, place: str, hint: str, details: str
) -> HookcliError:
    return kind(message, place=place, hint=hint, details=details)


class RequestError(HookcliError):
    """The request cannot be carried out: flags, files, names, input specs."""

    status = Status.REQUEST


class ProblemsError(RequestError):
    """All that is wrong with a configuration, said at once. The first speaks for all."""

    def __init__(self, problems: tuple[RequestError, ...]) -> None:
        first = problems[0]
        super().__init__(first.message, place=first.place, hint=first.hint)
        self.problems = problems

    def __reduce__(self) -> tuple[object, ...]:
        return ProblemsError, (self.problems,)


class NoBatchError(RequestError):
    """Nothing was given or declared to run the model with, and nothing could be inferred."""


class ModelError(HookcliError):
    """The model's own code, or its archive, failed."""

    status = Status.MODEL


class NoFakeError(ModelError):
    """A tensor of the model or its batch has no fake counterpart: a real run can tell more."""


class BugError(HookcliError):
    """hookcli itself is wrong."""

    status = Status.BUG


class QuitError(HookcliError):
    """The user left the debugger, and the run with it."""

    status = Status.INTERRUPTED


class LeftDebugger(KeyboardInterrupt):
    """The user left the debugger that an action opened, at `place`: nothing may go on."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


OWN = frozenset(
    (HookcliError, RequestError, ProblemsError, NoBatchError, ModelError, BugError, QuitError)
)
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep  # noqa: PTH100, PTH120  # fast
_ENTRIES = f"{_FOLDER}api"  # how the functions of hookcli's Python API begin


def is_own(error: BaseException) -> bool:
    """Whether hookcli itself says something by this error, and not code of the user's.

    That code may raise errors of the same name, of these very classes, or of classes below them,
    and may call hookcli's API, which raises them in hookcli's own lines. Nothing that a class can
    override is asked.
    """
    if type(error) not in OWN:
        return False
    files = []
    step = trace_of(error)
    while step is not None:
        files.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    called_again = any(file.startswith(_ENTRIES) for file in files[1:])
    return not files or (files[-1].startswith(_FOLDER) and not called_again)


def trace_of(error: BaseException) -> TracebackType | None:
    """The traceback that Python keeps, whatever a property of the class says."""
    return _trace(error)


_trace: Callable[[BaseException], TracebackType | None]
_trace = vars(BaseException)["__traceback__"].__get__


class InterruptedRun(BaseException):
    """A signal, or a closed stdout, ended the command; `where` says where the run had come."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status
        self.where: str | None = None
