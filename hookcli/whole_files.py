"""Files that appear complete or not at all, and folders for temporary files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hookcli.outputs.special_files import is_in_place, kind_of, write_in_place

_USUAL = ("/tmp", "/var/tmp")  # as in tempfile


@contextlib.contextmanager
def replacing(file: Path, prefix: str | None = None) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder, which replaces `file` at the end.

    A link is kept, and its target replaced. The permissions are those of the old file, else the
    usual ones. If the block raises, the temporary file is removed and `file` is as before.
    `prefix` begins the temporary file's name; by default it is hidden.

    Raises
    ------
    OSError : the temporary file cannot be created, or cannot replace `file`, which is not a
        regular file.
    """
    if kind := kind_of(file):
        raise OSError(errno.EINVAL, f"it is {kind}")
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
    if is_in_place(file):
        write_in_place(file, data)
        return
    with replacing(file) as temporary:
        temporary.write_bytes(data)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def private_folder() -> Iterator[str]:
    """Yield the path of a new folder, below $TMPDIR if torch can open files there.

    Raises
    ------
    OSError : no folder for temporary files can be written.
    """
    folder = tempfile.mkdtemp(prefix="hookcli-", dir=_parent())
    try:
        yield folder
    finally:
        try:
            Path(folder).rmdir()  # removing a tree requires a descriptor
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)


def _parent() -> str:
    """Return the folder of tempfile; torch requires a name in UTF-8, so else a usual one."""
    found = tempfile.gettempdir()
    if _is_utf8(found):
        return found
    return next((name for name in _USUAL if os.access(name, os.W_OK | os.X_OK)), found)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
