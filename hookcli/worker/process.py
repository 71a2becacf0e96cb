"""Start the child process, also in advance, so that it imports torch while flags are parsed."""

from __future__ import annotations

import os
import subprocess
import sys

from hookcli.worker.progress.screen import worker_stream

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
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
    """Start Python with these arguments, in a new session and without standard input: a `Spawn`.

    Raises
    ------
    OSError : the process cannot be started.

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
    """Start all workers from now on with `spawn`, as tests do that have imported torch already."""
    global _spawn  # noqa: PLW0603  # one per process, like the processes started ahead
    _spawn = spawn


class Process:
    """A child that waits for its job, with its pipes, and memory that outlives it.

    It also inherits the descriptors in `more`, with the same numbers. If those are the user's
    terminal, the child writes to stderr itself, to keep the order of what both show.

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
        """Close the descriptors. The child ends when the pipe of its job is closed."""
        for fd in (self.job, self.answer, self.events, self.dump):
            os.close(fd)


def _environment() -> dict[str, str]:
    """Return the environment with a fixed hash seed, so that sets of strings keep their order.

    A model that iterates over such a set then runs the same way each time. A number that the user
    set as PYTHONHASHSEED is kept.
    """
    seed = os.environ.get("PYTHONHASHSEED", "random")
    return {**os.environ, "PYTHONHASHSEED": "0" if seed in {"", "random"} else seed}


_ahead: list[Process] = []


def start_ahead() -> None:
    """Start a process in advance, which `started` will return."""
    _ahead.append(Process())


def started() -> Process:
    """Return the process that was started in advance, or a new one."""
    return _ahead.pop() if _ahead else Process()


def end_unused() -> None:
    """End processes that were started in advance and not used. They have run no user code."""
    while _ahead:
        process = _ahead.pop()
        process.child.kill()
        process.child.wait()
        process.close()


def shared_memory() -> int:
    """Return the descriptor of an unnamed file, in memory if possible: /tmp may be full."""
    create = getattr(os, "memfd_create", None)
    if create is not None:
        fd: int = create("hookcli")
        return fd
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _error_stream(*, direct: bool) -> int:
    """Return the parent's stderr, for the model's output; DEVNULL if it is closed.

    Unless `direct`, the output goes through the screen that shows progress.
    """
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2 if direct else worker_stream()
