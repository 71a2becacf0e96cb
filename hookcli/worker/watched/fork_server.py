"""The fork server: a process that has imported torch, from which workers are forked.

`--watch` runs a model again and again. A worker that is forked begins with torch imported, and
otherwise as a new process: the server itself runs no code of the user.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess

from hookcli.interpreters.start import python_command
from hookcli.worker.interpreter.environments import OLDEST_PYTHON
from hookcli.worker.process import HOME, first_lines, spawn_python, worker_environment
from hookcli.worker.systems import LINUX

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookcli.worker.spawn import ChildProcess


def can_fork() -> bool:
    """Return whether workers can be forked from a process that has imported torch.

    macOS cannot fork a process that uses its frameworks; a kernel before Linux 5.3 cannot wait for
    processes by their descriptors.
    """
    return LINUX and hasattr(os, "pidfd_open") and hasattr(socket, "recv_fds")


class ForkServer:
    """A fork server of one interpreter. Its `spawn` is a `Spawn`.

    The server ends when this process and its forks have ended, or by `close`.

    Raises
    ------
    OSError : it cannot be started.
    """

    def __init__(self, python: str) -> None:
        self._python = python
        self._preloaded: set[str] = set()
        self._environment = worker_environment()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            fd = theirs.fileno()
            self._server = spawn_python(
                python_command(python, first_lines(), *["-1"] * 5, HOME, OLDEST_PYTHON, str(fd)),
                stdout=nothing,
                stderr=nothing,
                pass_fds=(fd,),
                env=self._environment,
            )
        except OSError:
            self._socket.close()
            raise
        finally:
            os.close(nothing)
            theirs.close()

    def preload(self, names: Sequence[str]) -> None:
        """Let the server import modules of hookcli that it has not imported yet."""
        new = [name for name in names if name not in self._preloaded]
        self._preloaded.update(new)
        if new:
            with contextlib.suppress(OSError):  # it has ended
                self._socket.send(json.dumps(new).encode())

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._server.kill()
        self._server.wait()

    def spawn(
        self,
        command: list[str],
        *,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        env: dict[str, str],
    ) -> ChildProcess:
        """Fork a worker. What the server cannot fork is started as a new process.

        Raises
        ------
        OSError : the process cannot be started.
        """
        options = {"stdout": stdout, "stderr": stderr, "pass_fds": pass_fds, "env": env}
        numbers = command[-7:-2]
        is_worker = [*map(str, pass_fds)] == numbers  # a debugger is passed the terminal too
        if command[0] != self._python or env != self._environment or not is_worker:
            return spawn_python(command, **options)  # type: ignore[arg-type]
        status, theirs = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        streams = [nothing if fd == subprocess.DEVNULL else fd for fd in (stdout, stderr)]
        try:
            request = json.dumps([int(number) for number in numbers]).encode()
            socket.send_fds(self._socket, [request], [theirs, *streams, *pass_fds])
            os.close(theirs)
            pid = _line(status)
        except OSError:
            os.close(status)
            return spawn_python(command, **options)  # type: ignore[arg-type]
        finally:
            os.close(nothing)
        return ForkedChild(command, int(pid), status)


def _line(fd: int) -> bytes:
    """Read a line.

    Raises
    ------
    OSError : the pipe was closed: the server has ended.
    """
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            raise OSError("the fork server has ended")
        line += byte
    return line


class ForkedChild:
    """A worker that the fork server forked: a `ChildProcess`. Its status comes through a pipe."""

    def __init__(self, command: list[str], pid: int, status_pipe: int) -> None:
        self.pid = pid
        self._command, self._pipe = command, status_pipe
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return the exit status.

        Raises
        ------
        subprocess.TimeoutExpired : it still runs after `timeout` seconds.
        """
        if self._status is not None:
            return self._status
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if not poll.poll(None if timeout is None else timeout * 1000):
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        try:
            self._status = int(_line(self._pipe))
        except OSError:  # the server has ended, and the worker with it
            self._status = -signal.SIGKILL
        os.close(self._pipe)
        return self._status

    def kill(self) -> None:
        """Kill it."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
