"""What the system refuses a process: files, processes, memory, space, a folder."""

from __future__ import annotations

import errno
import os

from hookcli.errors import RequestError
from hookcli.handler_errors import is_of_handler

_RAISE_FILES = "raise the limit of open files, as with `ulimit -n 1024`"
_FREE_SPACE = "free disk space, or set TMPDIR to another folder"
_MORE_MEMORY = "stop other processes, or use a machine with more memory"
_HINTS = {  # of errors that name no file
    errno.EMFILE: _RAISE_FILES,
    errno.ENFILE: _RAISE_FILES,
    errno.EAGAIN: "stop other processes, or raise the limit, as with `ulimit -u 4096`",
    errno.ENOMEM: _MORE_MEMORY,
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: "raise the limit of the size of files, as with `ulimit -f unlimited`",
}
_NO_MEMORY = ("failed to map segment", "annot allocate memory")  # of the loader of libraries

_OF_TORCH = ("not enough memory: you tried to allocate", "annot allocate memory", "out of memory")


def refusal(error: BaseException) -> RequestError | None:
    """Return the error for what the system refuses; None for any other exception."""
    if isinstance(error, OSError):
        return _of_system(error)
    by_loader = isinstance(error, ImportError) and any(part in str(error) for part in _NO_MEMORY)
    if isinstance(error, MemoryError) or by_loader:
        return RequestError("not enough memory", place="this process", hint=_MORE_MEMORY)
    return None


def is_short_of(error: BaseException) -> bool:
    """Return whether the system lacks something, and would refuse it to any other code too."""
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno in _HINTS and error.filename is None
    )


def raise_if_external(error: BaseException) -> None:
    """Raise an error that the code it ended did not cause: of that code, nothing is known.

    Memory ran out, and this raises MemoryError; or a handler of a signal, which Python may call
    between any two instructions, raised the error. PyTorch raises RuntimeError for memory of the
    processor, and torch.OutOfMemoryError for a GPU's. Code that takes an error as "has no values"
    or "does not run" calls this first.
    """
    if is_of_handler(error):
        raise error
    text = str(error) if isinstance(error, RuntimeError) else ""
    is_of_torch = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)
    if isinstance(error, MemoryError) or is_of_torch or any(part in text for part in _OF_TORCH):
        raise MemoryError("not enough memory") from error


def _of_system(error: OSError) -> RequestError:
    why = error.strerror or str(error)
    if error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        hint = "check the name, and the permissions of its folders"
        return RequestError(f"cannot access {name}: {why}", place=str(name), hint=hint)
    if why.startswith("No usable temporary directory"):
        return RequestError(
            "no folder for temporary files can be written",
            place=f"TMPDIR={os.environ.get('TMPDIR', '')}",
            hint="set TMPDIR to a folder that you can write to",
        )
    if error.errno == errno.ENOENT:  # the only call without a name that finds nothing
        return RequestError(
            "the working folder no longer exists", place=".", hint="change to an existing folder"
        )
    hint = _HINTS.get(error.errno or 0, "check the limits of this process with `ulimit -a`")
    return RequestError(f"the system refused a request: {why}", place="this process", hint=hint)
