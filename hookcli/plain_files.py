"""Reading a file whole, whatever its name stands for: no pipe is waited for without end."""

from __future__ import annotations

import errno
import os
import select
import stat
import time

_MOST = 4 << 30  # bytes: what is larger would not fit into memory once it is parsed
_CHUNK = 1 << 20
_PATIENCE = 10.0  # seconds for which somebody is waited for who opens a named pipe
_TICK = 0.02
# Windows has neither named pipes among its files nor these flags, and changes line ends in text.
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_FLAGS = os.O_RDONLY | _NONBLOCK | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(path: str, most: int = _MOST) -> bytes:
    """The bytes of a file, or of a pipe to its end; with more than `most`, that many and one more.

    Raises
    ------
    OSError : it cannot be read, is larger than memory could hold, or nobody writes to the pipe;
        `strerror` says so.
    """
    try:
        # Without O_NONBLOCK a pipe would be waited for here until somebody opens its other end.
        handle = os.open(path, _FLAGS)
    except ValueError as error:  # a NUL or a lone surrogate, out of a configuration
        raise OSError(errno.EINVAL, str(error)) from None
    with os.fdopen(handle, "rb", buffering=0) as file:
        first = _first_of_pipe(handle) if stat.S_ISFIFO(os.fstat(handle).st_mode) else b""
        if _NONBLOCK:
            os.set_blocking(handle, True)
        chunks, size = [first], len(first)
        while size <= most and (chunk := file.read(min(_CHUNK, most + 1 - size))):
            chunks.append(chunk)
            size += len(chunk)
            if size > most == _MOST or _is_endless(handle, size):
                raise OSError(errno.EFBIG, "it has no end, or is larger than 4 GiB")
        return b"".join(chunks)


def _first_of_pipe(handle: int) -> bytes:
    """What a pipe holds already; b"" once somebody has it open for writing, however slow they are.

    Raises
    ------
    OSError : nobody does, after a while.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            data = os.read(handle, _CHUNK)
        except BlockingIOError:  # a writer is there, and has written nothing yet
            return b""
        if data or _writers_left(handle):
            return data
        if time.monotonic() > until:
            raise OSError(errno.EAGAIN, "it is a pipe that nobody writes to")
        time.sleep(_TICK)


def _writers_left(handle: int) -> bool:
    """Whether a pipe had a writer, and has none now."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _is_endless(handle: int, size: int) -> bool:
    """Whether so much came from a device, such as /dev/zero, that it will go on."""
    return size > 1 << 26 and stat.S_ISCHR(os.fstat(handle).st_mode)
