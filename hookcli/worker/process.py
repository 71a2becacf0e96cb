"""Starting the child process; also ahead, so that it imports torch while the flags are read."""

from __future__ import annotations

import os
import subprocess
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow
_MAIN = os.path.join(_FOLDER, "__main__.py")  # noqa: PTH118
_HOME = os.path.dirname(os.path.dirname(_FOLDER))  # noqa: PTH120


class Process:
    """A child that waits for its job, with its pipes, and memory that outlives it.

    Attributes
    ----------
    job, answer : the parent's ends of the pipes.
    events, dump : descriptors of files without a name.

    """

    def __init__(self) -> None:
        self.events, self.dump = _shared_memory(), _shared_memory()
        job, self.job = os.pipe()
        self.answer, answer = os.pipe()
        passed = (job, answer, self.events, self.dump)
        try:
            self.child = subprocess.Popen(
                [sys.executable, _MAIN, *map(str, passed), _HOME],
                stdin=subprocess.DEVNULL,
                stdout=_error_stream(),
                stderr=_error_stream(),
                pass_fds=passed,
                env=_environment(),
                start_new_session=True,
            )
        finally:
            os.close(job)
            os.close(answer)

    def close(self) -> None:
        """Free the descriptors. A child without its job's pipe ends."""
        for fd in (self.job, self.answer, self.events, self.dump):
            os.close(fd)


def _environment() -> dict[str, str]:
    """Ours, with one order for sets of strings: a model that goes through one runs alike again.

    Who sets PYTHONHASHSEED to a number wants that one.
    """
    asked = os.environ.get("PYTHONHASHSEED", "random")
    return {**os.environ, "PYTHONHASHSEED": "0" if asked in {"", "random"} else asked}


_ahead: list[Process] = []


def start_ahead() -> None:
    """Start the process that `started` will give."""
    _ahead.append(Process())


def started() -> Process:
    """The process that was started ahead, or else a new one."""
    return _ahead.pop() if _ahead else Process()


def end_unused() -> None:
    """End what was started ahead and not asked for. It has seen nothing of the user's yet."""
    while _ahead:
        process = _ahead.pop()
        process.child.kill()
        process.child.wait()
        process.close()


def _shared_memory() -> int:
    """A descriptor without a name, in memory where the system can: a full /tmp must not matter."""
    create = getattr(os, "memfd_create", None)
    if create is not None:
        fd: int = create("hookcli")
        return fd
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _error_stream() -> int:
    """The parent's stderr for the model's output, or nowhere where that is closed."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2
