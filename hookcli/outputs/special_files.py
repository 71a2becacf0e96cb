"""Paths that name no regular file: pipes, devices, sockets, directories and open descriptors.

A named pipe is opened without waiting for its other end: `open_output` gives up after a while.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import time
from io import FileIO
from pathlib import Path

PATIENCE = 10.0  # seconds for which the other end of a named pipe is waited for
STALLED = 60.0  # seconds without progress after which nobody reads a pipe
_TICK = 0.02
_LINKS = 40  # followed at most, as by Linux
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a device"),
)
_DESCRIPTOR = re.compile(r"/dev/(?:std(in|out|err)|fd/(\d{1,9}))|/proc/(self|\d+)/fd/(\d{1,9})")
_STANDARD = {"in": 0, "out": 1, "err": 2}
# Windows has none of these flags.
_FLAGS = os.O_WRONLY | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)

NO_READER = "it is a named pipe that nobody reads"
CLOSED_PIPE = "its reader has closed the pipe"
KEEP_READING = "choose a reader that reads to the end, or a file"  # a hint

_held: dict[tuple[int, int], int] = {}  # descriptors of named pipes, by device and inode


def kind_of(path: str | Path) -> str | None:
    """Return what a path names, such as "a named pipe"; None if that is a regular file or nothing.

    Links are followed.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(mode)), None)


def is_in_place(path: str | Path) -> bool:
    """Return whether a path can only be written in place: a pipe, a device, a descriptor."""
    return descriptor_of(path) is not None or kind_of(path) is not None


def hold(path: str | Path, *, by_this_process: bool = True) -> None:
    """Check that a path that is written in place can be opened. A named pipe is kept open.

    Without that, its reader would see the end of the pipe before anything was written. So a pipe
    that another process writes later is not opened.

    Raises
    ------
    OSError : it cannot be opened, or nobody reads the pipe after a while.
    """
    named = descriptor_of(path)
    if isinstance(named, int) and _is_own(named):
        raise OSError(errno.EBADF, _not_open(named))
    if named is None and not by_this_process and kind_of(path) == "a named pipe":
        return
    handle = _opened(path, append=False)
    key = _pipe(handle) if named is None else None
    if key is None or key in _held:
        os.close(handle)
    else:
        _held[key] = handle


def open_output(path: str | Path, *, append: bool = False) -> int:
    """Return a descriptor that writes to a path in place; with `append` at its end.

    `/dev/stdout`, `/dev/fd/N` and their like are the descriptor itself, whose position is kept.
    A named pipe is waited for until somebody opens it for reading, at most `PATIENCE` seconds.

    Raises
    ------
    OSError : it cannot be opened; `strerror` says why.
    """
    try:
        found = Path(path).stat()
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error)) from None
    except OSError:
        return _opened(path, append=append)
    held = _held.pop((found.st_dev, found.st_ino), None)
    return _opened(path, append=append) if held is None else held


def open_for_writing(path: str | Path) -> FileIO:
    """Return a file without a buffer, which replaces an old one's content, or writes in place.

    Raises
    ------
    OSError : it cannot be opened.
    """
    if is_in_place(path):
        return FileIO(open_output(path), "wb")
    return FileIO(path, "wb")


def write_in_place(path: str | Path, data: bytes, *, append: bool = False) -> None:
    """Write to a path in place. A reader may be slow; that it has gone is an error.

    Raises
    ------
    OSError : the path cannot be opened or written.
    """
    handle = open_output(path, append=append)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes to a descriptor; wait for a pipe that is full, `STALLED` seconds at a time.

    Raises
    ------
    OSError : it cannot be written, or nobody reads the pipe any more.
    """
    left = memoryview(data)
    # A pipe that can be written has space for so many bytes: no write of them waits.
    is_pipe = os.name != "nt" and _pipe(handle) is not None
    most = select.PIPE_BUF if is_pipe else len(data)
    while left:
        try:
            if is_pipe and not select.select([], [handle], [], STALLED)[1]:
                raise OSError(errno.ETIMEDOUT, f"its reader has read nothing for {STALLED:.0f} s")
            left = left[os.write(handle, left[:most]) :]
        except BlockingIOError:
            select.select([], [handle], [], STALLED)
        except BrokenPipeError:
            raise OSError(errno.EPIPE, CLOSED_PIPE) from None


def seen_by_children(path: str) -> str:
    """Return a path for another process: a descriptor of this process is named with its id.

    The other process has descriptors of its own with these numbers.
    """
    number = descriptor_of(path)
    seen = f"/proc/{os.getpid()}/fd/{number}"
    return seen if isinstance(number, int) and os.path.exists(seen) else path  # noqa: PTH110


def as_given(path: str) -> str:
    """Undo `seen_by_children`: return the name of the descriptor; other paths unchanged."""
    found = re.fullmatch(r"/proc/\d+/fd/(\d+)", path)
    return f"/dev/fd/{found[1]}" if found else path


def descriptor_of(path: str | Path) -> int | str | None:
    """Return the number of the descriptor that a path names, or the path of another process's.

    None if it names none. Links are followed as far as such a path.
    """
    name = os.path.abspath(path)  # noqa: PTH100  # it does not follow links
    for _ in range(_LINKS):
        if found := _DESCRIPTOR.fullmatch(name):
            standard, number, process, its_number = found.groups()
            if process not in {None, "self", str(os.getpid())}:
                return name
            return _STANDARD[standard] if standard else int(number or its_number)
        try:
            name = str(Path(name).parent / Path(name).readlink())
        except (OSError, ValueError, AttributeError):
            return None
        name = os.path.abspath(name)  # noqa: PTH100
    return None


def _opened(path: str | Path, *, append: bool) -> int:
    named = descriptor_of(path)
    if isinstance(named, int):
        return _duplicate(named)
    kind = kind_of(path)
    if kind in {"a directory", "a socket", "a block device"}:
        raise OSError(errno.EISDIR if kind == "a directory" else errno.ENXIO, f"it is {kind}")
    flags = _FLAGS | (os.O_APPEND if append or named is not None else 0)
    if append:
        flags |= os.O_CREAT
    return _opened_pipe(path, flags) if kind == "a named pipe" else os.open(path, flags, 0o666)


def _duplicate(number: int) -> int:
    """Return a copy of a descriptor that this process was given.

    Raises
    ------
    OSError : it is not open, or open for reading only.
    """
    import fcntl

    try:
        handle = os.dup(number)
    except OSError as error:
        raise OSError(error.errno, _not_open(number)) from None
    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        os.close(handle)
        raise OSError(errno.EBADF, f"descriptor {number} is open for reading only")
    return handle


def _is_own(number: int) -> bool:
    """Return whether hookcli has opened a descriptor: those that it was given are inheritable."""
    try:
        return number > max(_STANDARD.values()) and not os.get_inheritable(number)
    except OSError:  # it is not open
        return False


def _not_open(number: int) -> str:
    return f"descriptor {number} is not open"


def _opened_pipe(path: str | Path, flags: int) -> int:
    """Return a named pipe, open for writing, once somebody has opened it for reading.

    Raises
    ------
    OSError : nobody does, after a while.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            handle = os.open(path, flags | _NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        else:
            os.set_blocking(handle, True)
            return handle
        if time.monotonic() > until:
            raise OSError(errno.ENXIO, NO_READER)
        time.sleep(_TICK)


def _pipe(handle: int) -> tuple[int, int] | None:
    """Return the device and inode of an open pipe; None for anything else."""
    found = os.fstat(handle)
    return (found.st_dev, found.st_ino) if stat.S_ISFIFO(found.st_mode) else None
