"""The worker's standard streams, which accept what a model prints even if nobody can receive it.

Their other end belongs to whoever called hookcli. A reader that has gone, a full disk, or a pipe
that is full and does not block is no failure of the model that prints. A stream that the model has
closed itself is one.
"""

from __future__ import annotations

import errno
import io
import sys
from select import select  # by name, because a model may replace it
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer

_LOST = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENXIO}


class ForgivingFile(io.FileIO):
    """A file that discards what cannot be written, and waits if it cannot be written yet."""

    def write(self, data: Buffer, /) -> int:
        """Write bytes, and return how many were written or discarded.

        Raises
        ------
        OSError : the descriptor is closed.
        """
        while True:
            try:
                count: int | None = super().write(data)
            except OSError as error:
                if error.errno not in _LOST:
                    raise
                return memoryview(data).nbytes
            if count is not None:
                return count
            select((), (self.fileno(),), ())


def forgive_lost_streams() -> None:
    """Replace sys.stdout and sys.stderr, unless they are a terminal."""
    for name in ("stdout", "stderr"):
        old: Any = getattr(sys, name)
        if old is None or not isinstance(old, io.TextIOWrapper) or old.isatty():
            continue
        file = ForgivingFile(old.fileno(), "wb", closefd=False)
        file.name = f"<{name}>"
        unbuffered = isinstance(old.buffer, io.RawIOBase)  # python -u
        new = io.TextIOWrapper(
            file if unbuffered else io.BufferedWriter(file),
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            line_buffering=old.line_buffering,
            write_through=old.write_through,
        )
        new.mode = "w"  # type: ignore[misc]  # as Python sets it
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
