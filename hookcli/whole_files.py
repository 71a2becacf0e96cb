"""Writes whole files: a new one appears complete or not at all, and an old one stays until then."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(file: Path, prefix: str | None = None) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder, which replaces `file` at the end.

    A link is kept, and its target replaced. The permissions are those of the old file, else the
    usual ones. If the block raises, the temporary file is removed and `file` is as before.
    `prefix` begins the temporary file's name; by default it is hidden.

    Raises
    ------
    OSError : the temporary file cannot be created, or cannot replace `file`.
    """
    target = Path(os.path.realpath(file))
    start = f".{target.name[:40]}." if prefix is None else prefix
    handle, name = tempfile.mkstemp(prefix=start, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_whole(file: Path, data: bytes) -> None:
    """Write a file, whole or not at all. A device or a pipe is written in place.

    Raises
    ------
    OSError : it cannot be written; an existing file is unchanged.
    """
    if file.exists() and not file.is_file():
        file.write_bytes(data)
        return
    with replacing(file) as temporary:
        temporary.write_bytes(data)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
