"""The errors that a user can meet. Each carries the exit status that the command ends with."""

from __future__ import annotations

from enum import IntEnum


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
        self.place = place
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


class InterruptedRun(BaseException):
    """A signal, or a closed stdout, ended the command; `where` says where the run had come."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status
        self.where: str | None = None
