"""Start the child process, also in advance, so that it imports torch while flags are parsed."""

from __future__ import annotations

import os
import subprocess

from hookcli.interpreters.start import python_command, start_python
from hookcli.system.null_device import open_null
from hookcli.worker.interpreter.environments import OLDEST_PYTHON
from hookcli.worker.progress.screen import worker_stream
from hookcli.worker.systems import check_workers, has_workers

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
if TYPE_CHECKING:
    from hookcli.worker.spawn import ChildProcess, Spawn

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow
HOME = os.path.dirname(os.path.dirname(_FOLDER))  # noqa: PTH120


def first_lines() -> str:
    """Return the code that the child runs first."""
    with open(os.path.join(_FOLDER, "__main__.py"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return file.read()


def spawn_python(
    command: list[str],
    *,
    stdout: int,
    stderr: int,
    pass_fds: tuple[int, ...],
    env: dict[str, str],
) -> ChildProcess:
    """Start Python with arguments, in a new session and without standard input: a `Spawn`.

    Raises
    ------
    OSError : the process cannot be started.

    """
    nothing = open_null()  # subprocess.DEVNULL requires /dev/null
    try:
        return start_python(
            command,
            stdin=nothing,
            stdout=nothing if stdout == subprocess.DEVNULL else stdout,
            stderr=nothing if stderr == subprocess.DEVNULL else stderr,
            pass_fds=pass_fds,
            env=env,
            start_new_session=True,
        )
    finally:
        os.close(nothing)


_spawn: Spawn = spawn_python


def set_spawn(spawn: Spawn) -> None:
    """Start all workers from now on with `spawn`, as tests do that have imported torch already."""
    global _spawn  # noqa: PLW0603  # one per process, like the processes started ahead
    _spawn = spawn


class Process:
    """A child that waits for its job, with its pipes, and memory that outlives it.

    `python` is the path of its interpreter. The child also inherits the descriptors in `more`, with
    the same numbers. If those are the user's terminal, it writes to stderr itself, which keeps the
    order of what both show.

    Attributes
    ----------
    job, answer : the parent's ends of the pipes.
    alive : the parent's end of a pipe that carries nothing. It is closed when the parent ends.
    events, dump : descriptors of files without a name.

    Raises
    ------
    OSError : it cannot be started; with a file name if the interpreter is the cause.

    """

    def __init__(self, python: str, more: tuple[int, ...] = ()) -> None:
        check_workers()
        self.python = python
        self._open: list[int] = []  # the parent's descriptors
        theirs: list[int] = []  # the child's ends of the pipes
        try:
            self.events, self.dump = self._kept(shared_memory()), self._kept(shared_memory())
            self.job, self.answer, self.alive = (
                self._pipe(theirs, child_writes=child_writes) for child_writes in (0, 1, 0)
            )
            job, answer, alive = theirs
            passed = (job, answer, self.events, self.dump, alive)
            stream = _error_stream(direct=bool(more))
            self.child = _spawn(
                python_command(python, first_lines(), *map(str, passed), HOME, OLDEST_PYTHON),
                stdout=stream,
                stderr=stream,
                pass_fds=(*passed, *more),
                env=worker_environment(),
            )
        except OSError:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def _kept(self, fd: int) -> int:
        self._open.append(fd)
        return fd

    def _pipe(self, theirs: list[int], *, child_writes: int) -> int:
        """Open a pipe, add the child's end to `theirs`, and return the parent's."""
        ends = os.pipe()
        theirs.append(ends[child_writes])
        return self._kept(ends[1 - child_writes])

    def end(self) -> None:
        """End a child that has run no user code, and close the descriptors."""
        self.child.kill()
        self.child.wait()
        self.close()

    def close(self) -> None:
        """Close the descriptors. The child ends when the pipe of its job is closed."""
        while self._open:
            os.close(self._open.pop())


def worker_environment() -> dict[str, str]:
    """Return the environment with a fixed hash seed, so that sets of strings keep their order.

    A model that iterates over such a set then runs the same way each time. A number that the user
    set as PYTHONHASHSEED is kept.
    """
    seed = os.environ.get("PYTHONHASHSEED", "random")
    environment = {**os.environ, "PYTHONHASHSEED": "0" if seed in {"", "random"} else seed}
    environment.pop("__PYVENV_LAUNCHER__", None)  # macOS: the path of hookcli's own interpreter
    return environment


_ahead: list[Process] = []


def start_ahead(python: str) -> None:
    """Start a process in advance, which `started` will return."""
    if has_workers():
        _ahead.append(Process(python))


def started(python: str) -> Process:
    """Return a process of this interpreter that was started in advance, or a new one."""
    for i, process in enumerate(_ahead):
        if process.python == python:
            return _ahead.pop(i)
    return Process(python)


def has_unused() -> bool:
    """Return whether a process that was started in advance has not been used."""
    return bool(_ahead)


def end_unused() -> None:
    """End processes that were started in advance and not used. They have run no user code."""
    while _ahead:
        _ahead.pop().end()


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
