"""Reading a file whole, whatever its name stands for: no pipe is waited for without end."""

from __future__ import annotations

import errno
import os
import select
import stat

_MOST = 4 << 30  # bytes: what is larger would not fit into memory once it is parsed
_CHUNK = 1 << 20
_PATIENCE = 10.0  # seconds for which a named pipe is waited for


def read_bytes(path: str, most: int = _MOST) -> bytes:
    """The bytes of a file, or of a pipe to its end; with more than `most`, that many and one more.

    Raises
    ------
    OSError : it cannot be read, is larger than memory could hold, or nobody writes to the pipe;
        `strerror` says so.
    """
    try:
        # Without O_NONBLOCK a pipe would be waited for here until somebody opens its other end.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL or a lone surrogate, out of a configuration
        raise OSError(errno.EINVAL, f"its name is not one of a file ({error})") from None
    with os.fdopen(handle, "rb", buffering=0) as file:
        if stat.S_ISFIFO(os.fstat(handle).st_mode):
            _await_writer(handle)
        os.set_blocking(handle, True)
        chunks, size = [], 0
        while size <= most and (chunk := file.read(min(_CHUNK, most + 1 - size))):
            chunks.append(chunk)
            size += len(chunk)
            if size > most == _MOST or _is_endless(handle, size):
                raise OSError(errno.EFBIG, "it has no end, or is larger than 4 GiB")
        return b"".join(chunks)


def _await_writer(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(_PATIENCE * 1000):
        raise OSError(errno.EAGAIN, "it is a pipe that nobody writes to")


def _is_endless(handle: int, size: int) -> bool:
    """Whether so much came from a device, such as /dev/zero, that it will go on."""
    return size > 1 << 26 and stat.S_ISCHR(os.fstat(handle).st_mode)
