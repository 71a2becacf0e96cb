"""What goes over the pipes between the two sides. Both are of one version: no promises to others.

Parent → child: one pickled `Job`. Child → parent: one frame, a report or a failure.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from os import read, write
from pickle import dumps, loads
from typing import Literal, TypeAlias

from hookcli.errors import HookcliError
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.request import Attempt, Spec

_HEAD = struct.Struct("<Q")
PIPE_LOST = 74  # exit status of a child whose answer has no way to the parent: EX_IOERR
# `os` and `pickle` are taken apart above, because a model may replace their functions.


Reason: TypeAlias = Literal["died", "timeout", "memory"]


@dataclass(frozen=True, slots=True)
class Job:
    """What the child is to do."""

    spec: Spec
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class ReportMessage:
    """The run's report, as JSON, and the batch that it settled on: declared, or inferred.

    `trials` are the tries that inference made, a line each. `failed`: the model raised. `others`
    are the reports that the ranks after this one sent to it, None for one that sent none.
    """

    json: str
    declaration: str | None
    inferred: Hypothesis | None = None
    trials: tuple[str, ...] = ()
    failed: bool = False
    others: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """Nothing could be run: why, and in which phase."""

    phase: str
    error: HookcliError


@dataclass(frozen=True, slots=True)
class Crash:
    """The child ended without a word, or was ended: why, and where it had come."""

    reason: Reason
    message: str
    phase: str
    layer: str | None
    call: int | None
    place: str | None


Answer: TypeAlias = ReportMessage | FailureMessage | Crash


def write_all(fd: int, data: bytes) -> None:
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[write(fd, view) :]


def send_job(fd: int, job: Job) -> None:
    """Send the job, with its length before it: the pipe stays open as the parent's sign of life."""
    body = dumps(job)
    write_all(fd, _HEAD.pack(len(body)) + body)


def receive_job(fd: int) -> Job:
    """Read the job."""
    size: int = _HEAD.unpack(_read(fd, _HEAD.size))[0]
    job = loads(_read(fd, size))  # from our own parent
    if not isinstance(job, Job):
        raise TypeError(type(job).__name__)
    return job


def _read(fd: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError("the parent closed the pipe")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send_answer(fd: int, message: ReportMessage | FailureMessage) -> None:
    """Send the one frame."""
    body = dumps(message)
    write_all(fd, _HEAD.pack(len(body)) + body)


class Inbox:
    """Collects the child's bytes until its one frame is whole."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was read."""
        self._data += data

    def answer(self) -> ReportMessage | FailureMessage | None:
        """The frame, once it is whole."""
        if len(self._data) < _HEAD.size:
            return None
        (size,) = _HEAD.unpack_from(self._data)
        if len(self._data) < _HEAD.size + size:
            return None
        message: ReportMessage | FailureMessage = loads(  # from our own child
            memoryview(self._data)[_HEAD.size : _HEAD.size + size]
        )
        return message
