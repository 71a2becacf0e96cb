"""Starting the child process; also ahead, so that it imports torch while the flags are read."""

from __future__ import annotations

import os
import subprocess
import sys

from hookcli.worker.progress.screen import worker_stream

TYPE_CHECKING = False  # as type checkers know it: importing typing takes a while
if TYPE_CHECKING:
    from hookcli.worker.spawn import ChildProcess, Spawn

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow
_MAIN = os.path.join(_FOLDER, "__main__.py")  # noqa: PTH118
_HOME = os.path.dirname(os.path.dirname(_FOLDER))  # noqa: PTH120


def spawn_python(
    arguments: list[str],
    *,
    stdout: int,
    stderr: int,
    pass_fds: tuple[int, ...],
    env: dict[str, str],
) -> ChildProcess:
    """Python with these arguments, in a session of its own and without standard input: a `Spawn`.

    Raises
    ------
    OSError : no process can be started.

    """
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        env=env,
        start_new_session=True,
    )


_spawn: Spawn = spawn_python


def set_spawn(spawn: Spawn) -> None:
    """Start all workers from now on with `spawn`, as a test does that has torch imported."""
    global _spawn  # noqa: PLW0603  # one for the process, as is what was started ahead
    _spawn = spawn


class Process:
    """A child that waits for its job, with its pipes, and memory that outlives it.

    It has the descriptors in `more` too, under the same numbers. Where those are the user's
    terminal, it writes to stderr itself, to keep the order of what both show.

    Attributes
    ----------
    job, answer : the parent's ends of the pipes.
    events, dump : descriptors of files without a name.

    """

    def __init__(self, more: tuple[int, ...] = ()) -> None:
        self.events, self.dump = shared_memory(), shared_memory()
        job, self.job = os.pipe()
        self.answer, answer = os.pipe()
        passed = (job, answer, self.events, self.dump)
        stream = _error_stream(direct=bool(more))
        try:
            self.child = _spawn(
                [_MAIN, *map(str, passed), _HOME],
                stdout=stream,
                stderr=stream,
                pass_fds=(*passed, *more),
                env=_environment(),
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


def shared_memory() -> int:
    """A descriptor without a name, in memory where the system can: a full /tmp must not matter."""
    create = getattr(os, "memfd_create", None)
    if create is not None:
        fd: int = create("hookcli")
        return fd
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _error_stream(*, direct: bool) -> int:
    """The parent's stderr for the model's output, or nowhere if that is closed.

    It is `direct`, or through the screen that shows progress.
    """
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2 if direct else worker_stream()
