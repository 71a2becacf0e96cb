"""Reading a file whole, whatever its name stands for: no pipe is waited for without end."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

from hookcli.outputs.special_files import descriptor_of, kind_of
from hookcli.sentences import cannot_read, missing_file, not_a_file
from hookcli.text import nearest

_MOST = 4 << 30  # bytes: what is larger would not fit into memory once it is parsed
_CHUNK = 1 << 20
_ENDLESS = 1 << 26  # bytes from a device
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
    except OSError as error:
        raise OSError(error.errno, reason_of(path, error)) from None
    with os.fdopen(handle, "rb", buffering=0) as file:
        is_pipe = stat.S_ISFIFO(os.fstat(handle).st_mode)
        # A descriptor that this process was given has been opened at its other end.
        first = _first_of_pipe(handle) if is_pipe and descriptor_of(path) is None else b""
        if _NONBLOCK:
            os.set_blocking(handle, True)
        chunks, size = [first], len(first)
        while size <= most and (chunk := file.read(min(_CHUNK, most + 1 - size))):
            chunks.append(chunk)
            size += len(chunk)
            if size > most == _MOST or _is_endless(handle, size):
                raise OSError(errno.EFBIG, "it has no end, or is larger than 4 GiB")
        return b"".join(chunks)


def problem_of(path: str | Path, shown: object = None) -> str:
    """Return the message for a path that names no regular file.

    `shown` is the path as the user wrote it. Nothing is opened.
    """
    shown = path if shown is None else shown
    try:
        os.stat(path)  # noqa: PTH116
    except FileNotFoundError as error:
        if not os.path.islink(path):  # noqa: PTH114  # never raises
            return missing_file(shown)
        return cannot_read(shown, reason_of(path, error))
    except (OSError, ValueError) as error:
        if isinstance(error, NotADirectoryError):
            return missing_file(shown)
        return cannot_read(shown, reason_of(path, error))
    kind = kind_of(path)
    return missing_file(shown) if kind is None else not_a_file(shown, kind)


def reason_of(path: str | Path, error: OSError | ValueError) -> str:
    """Return why a path cannot be opened, in words that say more than the system's."""
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ENXIO and kind_of(path) == "a socket":
        return "it is a socket"
    if error.errno == errno.ELOOP:
        return "its symbolic links form a loop"
    if error.errno == errno.ENOENT and os.path.islink(path):  # noqa: PTH114  # never raises
        return f"it is a symbolic link to {os.readlink(path)}, which does not exist"  # noqa: PTH115
    return error.strerror or str(error)


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
    return size > _ENDLESS and stat.S_ISCHR(os.fstat(handle).st_mode)


def near_file(path: str | os.PathLike[str]) -> str | None:
    """Return the file beside a missing one with the nearest name and the same suffix, if any."""
    missing = Path(path)
    try:
        names = [one.name for one in missing.parent.iterdir() if one.suffix == missing.suffix]
    except (OSError, ValueError):
        return None
    stems = {Path(name).stem: name for name in names if name != missing.name}
    near = None if missing.name in names else nearest(missing.stem, stems, cutoff=0.6)
    return None if near is None else (missing.parent / stems[near]).as_posix()
