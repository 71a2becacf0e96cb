"""The errors that a user can meet. Each carries the exit status that the command ends with."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable
from enum import IntEnum

_LONGEST = 200  # characters of a name that anyone mistypes
_MOST = 20_000_000  # pairs of characters that are compared for a hint: a second or two


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


class BugError(HookcliError):
    """hookcli itself is wrong."""

    status = Status.BUG


class InterruptedRun(BaseException):
    """A signal, or a closed stdout, ended the command; `where` says where the run had come."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status
        self.where: str | None = None


def closest(word: str, names: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names closest to a word, for hints, as difflib.get_close_matches gives them.

    That takes the product of the lengths for each name, which hostile names make hours: long names
    are passed over, and the search ends after so much work.
    """
    if len(word) > _LONGEST:
        return []
    found: list[tuple[float, str]] = []
    left = _MOST
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher()
    matcher.set_seq2(word)
    for name in names:
        if len(name) > _LONGEST:
            continue
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() < cutoff or matcher.quick_ratio() < cutoff:
            continue
        left -= len(word) * len(name)
        if left < 0:
            break
        if matcher.ratio() >= cutoff:
            found.append((matcher.ratio(), name))
    return [name for _, name in heapq.nlargest(count, found)]
