"""Files that appear complete or not at all, and folders for temporary files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hookcli.outputs.special_files import is_in_place, kind_of, write_in_place
from hookcli.system.signals import ending_delayed

_USUAL = ("/tmp", "/var/tmp")  # as in tempfile


@contextlib.contextmanager
def replacing(file: Path, prefix: str | None = None) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder, which replaces `file` at the end.

    A link is kept, and its target replaced. The permissions are those of the old file, else the
    usual ones. If the block raises, the temporary file is removed and `file` is as before.
    `prefix` begins the temporary file's name; by default it is hidden.

    A file that exists may be writable where no other can take its place: it is mounted, or its
    folder is read-only. It is then overwritten at the end, and gets its old content back if that
    fails.

    Raises
    ------
    OSError : the temporary file cannot be created, or cannot replace `file`, which is not a
        regular file.
    """
    if kind := kind_of(file):
        raise OSError(errno.EINVAL, f"it is {kind}")
    target = Path(os.path.realpath(file))
    start = f".{target.name[:40]}." if prefix is None else prefix
    temporary: Path | None = None
    try:
        with ending_delayed():
            temporary = _beside(target, start)
        yield temporary
        if temporary.parent != target.parent:
            _overwrite(target, temporary)
            return
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno not in _FIXED or not target.exists():
                raise
            _overwrite(target, temporary)
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise


# A mount point; a file of somebody else in a folder such as /tmp; a folder that is read-only.
_FIXED = {errno.EBUSY, errno.EPERM, errno.EACCES, errno.EROFS, errno.EXDEV}


def _beside(target: Path, start: str) -> Path:
    """Create an empty file in the folder of another one, or in $TMPDIR if only that can be written.

    Raises
    ------
    OSError : neither is possible.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=start, dir=target.parent)
    except OSError as error:
        if error.errno not in _FIXED or not is_writable_file(target):
            raise
        handle, name = tempfile.mkstemp(prefix="hookcli-")
    os.close(handle)
    return Path(name)


def is_writable_file(file: Path) -> bool:
    """Return whether this is a file that exists and can be written."""
    return file.is_file() and os.access(file, os.W_OK)


def _overwrite(target: Path, source: Path) -> None:
    """Move the content of a file into another one, which stays the same file.

    Raises
    ------
    OSError : it cannot be written; it has its old content, if that is possible.
    """
    new, old = source.read_bytes(), target.read_bytes() if os.access(target, os.R_OK) else None
    with ending_delayed():
        try:
            target.write_bytes(new)
        except OSError:
            if old is not None:
                with contextlib.suppress(OSError):
                    target.write_bytes(old)
            raise
    source.unlink()


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

    The folders of processes that were killed are removed too.

    Raises
    ------
    OSError : no folder for temporary files can be written.
    """
    folder, held = None, None
    try:
        parent = _parent()
        _remove_abandoned(parent)
        with ending_delayed():
            folder = tempfile.mkdtemp(prefix=_HELD, dir=parent)
            held = hold_folder(folder)
            if held is None:  # nobody may take it for abandoned
                held_name, folder = folder, tempfile.mkdtemp(prefix=_NOT_HELD, dir=parent)
                remove_folder(held_name)
        yield folder
    finally:
        with ending_delayed():
            if folder is not None:
                remove_folder(folder)
            if held is not None:
                os.close(held)


_HELD, _NOT_HELD = "hookcli-held-", "hookcli-"
_YOUNG = 60.0  # seconds in which a folder that was made may not be held yet


def hold_folder(folder: str) -> int | None:
    """Lock a folder as long as this process lives, and return a descriptor; None if that fails.

    The system unlocks it when the process ends, also when it is killed.
    """
    try:
        import fcntl  # not on Windows

        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def remove_folder(folder: str) -> None:
    """Remove a folder and what is in it."""
    try:
        Path(folder).rmdir()  # removing a tree requires a descriptor
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: str) -> None:
    """Remove the folders of this user's processes that have ended without removing them."""
    if not hasattr(os, "getuid"):  # Windows
        return
    until = time.time() - _YOUNG
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not entry.name.startswith(_HELD):
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
                if not is_ours or status.st_mtime > until:
                    continue
                held = hold_folder(entry.path)
                if held is not None:
                    remove_folder(entry.path)
                    os.close(held)


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
