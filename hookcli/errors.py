"""The errors that a user can see. Each has the exit status that the command ends with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import TracebackType


class Status(IntEnum):
    """The exit statuses of the command."""

    FINE = 0
    FINDINGS = 1
    REQUEST = 2
    MODEL = 3
    BUG = 4
    HUNG_UP = 129
    INTERRUPTED = 130
    CLOSED_STDOUT = 141
    TERMINATED = 143


class HookcliError(Exception):
    """An error that ends the command, printed as three lines.

    Parameters
    ----------
    message : what is wrong, one sentence without a final period.
    place : where it is: a file and line, or the flag or argument as it was typed.
    hint : what to do about it.
    details : a traceback, printed with -v.
    instead : what can be typed in place of `place`. The command line then replaces the hint by
        the complete command, with the user's other arguments.

    """

    status = Status.BUG

    def __init__(
        self,
        message: str,
        *,
        place: str,
        hint: str,
        details: str = "",
        instead: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place if place.strip() else repr(place)  # make an empty argument visible
        self.hint = hint
        self.details = details
        self.instead = tuple(instead)
        # A traceback of the Python API shows them below the message, from Python 3.11 on.
        self.__notes__ = [f"  --> {self.place}", f"hint: {self.hint}"]

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.message, self.place, self.hint, self.details, self.instead)
        return _rebuild, (type(self), *fields)


def _rebuild(
    kind: type[HookcliError],
    message: str,
    place: str,
    hint: str,
    details: str,
    instead: tuple[str, ...],
) -> HookcliError:
    return kind(message, place=place, hint=hint, details=details, instead=instead)


class RequestError(HookcliError):
    """The request is wrong: a flag, a file, a name or an input."""

    status = Status.REQUEST


class ProblemsError(RequestError):
    """All errors of a configuration. Its message, place and hint are those of the first."""

    def __init__(self, problems: tuple[RequestError, ...]) -> None:
        first = problems[0]
        super().__init__(first.message, place=first.place, hint=first.hint)
        self.problems = problems

    def __reduce__(self) -> tuple[object, ...]:
        return ProblemsError, (self.problems,)


class NoBatchError(RequestError):
    """No batch was given or declared, and none could be inferred."""


class NoFakeBatchError(NoBatchError):
    """No batch could be inferred with fake tensors, since the model mixes them with real ones."""


class ModelError(HookcliError):
    """The model's code failed, or its archive is damaged."""

    status = Status.MODEL


class NoFakeError(ModelError):
    """A tensor of the model or its batch has no fake counterpart; a real run may succeed."""


class BugError(HookcliError):
    """A bug in hookcli."""

    status = Status.BUG


class QuitError(HookcliError):
    """The user quit the debugger, which ends the run."""

    status = Status.INTERRUPTED


class LeftDebugger(KeyboardInterrupt):
    """The user quit the debugger that an action opened at `place`. The run must not continue."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


OWN = frozenset(
    (
        HookcliError,
        RequestError,
        ProblemsError,
        NoBatchError,
        NoFakeBatchError,
        ModelError,
        NoFakeError,
        BugError,
        QuitError,
    )
)
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep  # noqa: PTH100, PTH120  # fast
_ENTRIES = f"{_FOLDER}api"  # the files of hookcli's Python API


def is_own(error: BaseException) -> bool:
    """Return whether hookcli raised this error, and not the user's code.

    The user's code may raise errors of the same name, of these classes or of subclasses, and may
    call hookcli's API, which raises them from hookcli's own lines. The test uses nothing that a
    class can override.
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
    """Return the traceback that Python stores, even if the class overrides the attribute."""
    return _trace(error)


_trace: Callable[[BaseException], TracebackType | None]
_trace = vars(BaseException)["__traceback__"].__get__


class InterruptedRun(BaseException):
    """A signal or a closed stdout ended the command. `where` describes how far the run was.

    `status` is None for a signal that the process ends by itself, after it has cleaned up.
    """

    def __init__(self, status: Status | None, signum: int | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.signum = signum
        self.where: str | None = None


_signalled: InterruptedRun | None = None


def note_signal(interruption: InterruptedRun | None) -> None:
    """Record what a signal handler is about to raise; None when a command begins."""
    global _signalled  # noqa: PLW0603  # signals belong to the process
    _signalled = interruption


def interruption_behind(error: BaseException) -> InterruptedRun | None:
    """Return the interruption that an error is, or that was raised before it; None if neither.

    Code in C or Rust turns any exception that is raised in it into an error of its own.
    """
    return error if isinstance(error, InterruptedRun) else _signalled


def raise_if_signalled() -> None:
    """Raise the interruption again if a signal arrived, and Python ignored what its handler raised.

    Python ignores exceptions in finalizers and in callbacks of weak references.
    """
    if _signalled is not None:
        raise _signalled
