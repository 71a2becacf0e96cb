"""Systems on which models can run in a worker process."""

from __future__ import annotations

import os
import sys

LINUX = sys.platform == "linux"  # where /proc, adopted orphans and signals of pipes exist

# What the worker is built on: a process group of its own, descriptors that it inherits, and pipes
# that can be waited for together. Windows has none of these.
_REQUIRED = ("fork", "killpg", "setsid", "set_blocking")


def has_workers() -> bool:
    """Return whether this system can start a worker process."""
    return all(hasattr(os, name) for name in _REQUIRED)


def check_workers() -> None:
    """Check that this system can start a worker process.

    Raises
    ------
    RequestError : it cannot.
    """
    if has_workers():
        return
    from hookcli.errors import RequestError

    raise RequestError(
        f"models run in a worker process, which this system ({sys.platform}) does not support",
        place="hookcli on Windows" if sys.platform == "win32" else sys.platform,
        hint="use WSL, or call `hookcli.inspect(model, batch)` in Python",
    )
