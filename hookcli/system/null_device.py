"""A descriptor in place of a stream that is closed or not wanted."""

from __future__ import annotations

import os


def open_null() -> int:
    """Return a descriptor that reads as an empty file and discards what is written.

    It is /dev/null. A sandbox or a container may lack it: then it is an empty file without a name.

    Raises
    ------
    OSError : no file can be opened.
    """
    try:
        return os.open(os.devnull, os.O_RDWR)
    except OSError:
        create = getattr(os, "memfd_create", None)
        if create is not None:
            fd: int = create("null")
            return fd
        import tempfile

        handle, name = tempfile.mkstemp(prefix="hookcli-")
        os.unlink(name)  # noqa: PTH108
        return handle
