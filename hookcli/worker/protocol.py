"""The messages between parent and child. Both have the same version, so the format may change.

Parent → child: one pickled `Job`. Child → parent: a line with the version of its Python, and one
frame, a report or a failure. The frame begins with a token that the parent chose, so that what a
model writes to all descriptors is not taken for it. The two may run under different versions of
Python: what is pickled contains only plain values and hookcli's own classes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from os import read, urandom, write
from pickle import dumps, loads
from typing import Literal, TypeAlias
from zlib import crc32

from hookcli.errors import HookcliError
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.request import Attempt, Spec
from hookcli.worker.watched.opened_files import recorded_in

_HEAD = struct.Struct("<Q")
_FRAME = struct.Struct("<QL")  # the size and the CRC-32 of what follows
_TOKEN = 16  # bytes
_GREETING = b"hookcli "  # the first line of a child: this, and the version of its Python
PIPE_LOST = 74  # exit status of a child that cannot send its answer to the parent: EX_IOERR
# The functions are imported by name above, because a model may replace those of the modules.


Reason: TypeAlias = Literal["died", "timeout", "memory"]


@dataclass(frozen=True, slots=True)
class Job:
    """The task of the child. `token` begins its answer.

    `opened` is the file in which it records the files that it opens; None if it does not.
    """

    spec: Spec
    attempt: Attempt
    token: bytes = field(default_factory=lambda: urandom(_TOKEN))
    opened: str | None = field(default_factory=recorded_in)


@dataclass(frozen=True, slots=True)
class ReportMessage:
    """The run's report, as JSON, and the batch that was used: declared or inferred.

    `trials` describes the trials of the inference, one line each. `failed`: the model raised.
    `others` are the reports that the other ranks sent to this one, None for a rank that sent none.
    """

    json: str
    declaration: str | None
    inferred: Hypothesis | None = None
    trials: tuple[str, ...] = ()
    failed: bool = False
    others: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """Nothing could be run: the error, and the phase."""

    phase: str
    error: HookcliError


@dataclass(frozen=True, slots=True)
class Crash:
    """The child ended without an answer, or was ended: the reason, and how far it had come.

    `python` is the version of the child's Python, None if it did not even send this.
    """

    reason: Reason
    message: str
    phase: str
    layer: str | None
    call: int | None
    place: str | None
    python: str | None = None


Answer: TypeAlias = ReportMessage | FailureMessage | Crash


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes."""
    view = memoryview(data)
    while view:
        view = view[write(fd, view) :]


def encoded_job(job: Job) -> bytes:
    """Return the job after its length: the pipe stays open as long as the parent lives."""
    body = dumps(job)
    return _HEAD.pack(len(body)) + body


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


def send_answer(fd: int, message: ReportMessage | FailureMessage, token: bytes) -> None:
    """Send the answer, a single frame."""
    body = dumps(message)
    write_all(fd, token + _FRAME.pack(len(body), crc32(body)) + body)


class DamagedAnswerError(Exception):
    """The child's answer is not what hookcli sent: the model wrote to the pipe."""


class Inbox:
    """Collect the child's bytes until its answer is complete.

    `python` is the version of the child's Python, which it sends first; None before that.
    """

    def __init__(self, token: bytes) -> None:
        self.python: str | None = None
        self._token = token
        self._start: int | None = None  # of the answer, after its token
        self._searched = 0
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes that were read."""
        self._data += data
        if self.python is None and self._data.startswith(_GREETING) and b"\n" in self._data:
            line, _, self._data = self._data.partition(b"\n")
            self.python = line.removeprefix(_GREETING).decode()

    def answer(self) -> ReportMessage | FailureMessage | None:
        """Return the answer if it is complete, else None.

        Raises
        ------
        DamagedAnswerError : other bytes are among those of the answer.
        """
        start = None if self.python is None else self._find_start()
        if start is None or len(self._data) < start + _FRAME.size:
            return None
        begin = start + _FRAME.size
        size, check = _FRAME.unpack_from(self._data, start)
        if len(self._data) < begin + size:
            return None
        with memoryview(self._data)[begin : begin + size] as body:
            if crc32(body) != check:
                raise DamagedAnswerError
            message: ReportMessage | FailureMessage = loads(body)  # from our own child
        return message

    def _find_start(self) -> int | None:
        """Return where the answer begins, after its token; other bytes may precede the token."""
        if self._start is None:
            at = self._data.find(self._token, self._searched)
            self._searched = max(0, len(self._data) - len(self._token))
            self._start = None if at < 0 else at + len(self._token)
        return self._start
