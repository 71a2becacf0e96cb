"""Forks the workers of many commands, for a process that must not fork itself.

After a fork, each page that either process writes is copied, at ten microseconds a page. A process
that only forks writes few, and the commands of a session, in the other process, none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hookcli.models import places
from hookcli.worker import last_event
from hookcli.worker.process import spawn_python
from tests.forked import server
from tests.fuzz import runner

_HIGH = 600  # more than any descriptor of a session


class Workers:
    """A process that forks workers; `spawn` is for `hookcli.worker.process.set_spawn`.

    Attributes
    ----------
    pid : its process id.
    folder : the folder of the case that runs.
    busy : the seconds of processor time of the workers that ended.
    memory : the most resident bytes of one of them.

    """

    def __init__(self) -> None:
        self.folder = Path()
        self.busy, self.memory = 0.0, 0
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            server._never_return(lambda: _serve(theirs))
        theirs.close()

    def fileno(self) -> int:
        """Return the descriptor over which workers are asked for."""
        return self._socket.fileno()

    def spawn(
        self,
        command: list[str],
        *,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        env: dict[str, str],
    ) -> ForkedWorker | subprocess.Popen:
        """Fork a worker; another interpreter is started as it is."""
        if command[0] != sys.executable:
            return spawn_python(command, stdout=stdout, stderr=stderr, pass_fds=pass_fds, env=env)
        ended, tell = os.pipe()
        request = {
            "arguments": command[3:-2], "passed": pass_fds, "env": env, "cwd": str(Path.cwd()),
            "folder": str(self.folder),
            "discard": [fd == subprocess.DEVNULL for fd in (stdout, stderr)],
        }  # fmt: skip
        streams = [tell if fd == subprocess.DEVNULL else fd for fd in (stdout, stderr)]
        socket.send_fds(self._socket, [json.dumps(request).encode()], [tell, *streams, *pass_fds])
        os.close(tell)
        return ForkedWorker(command, int(self._socket.recv(100)), ended, self._add)

    def _add(self, busy: float, memory: int) -> None:
        self.busy += busy
        self.memory = max(self.memory, memory)


class ForkedWorker:
    """A worker that another process forked: its status comes through a pipe."""

    def __init__(
        self, command: list[str], pid: int, ended: int, add: Callable[[float, int], None]
    ) -> None:
        self.pid = pid
        self._command, self._ended, self._add = command, ended, add
        self._status: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self._status is not None:
            return self._status
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        status, busy, memory = os.read(self._ended, 100).split()
        os.close(self._ended)
        self._status = int(status)
        self._add(float(busy), int(memory))
        return self._status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


# In the process that forks. ---------------------------------------------------------------------


def _serve(requests: socket.socket) -> None:
    server._close_all_but((requests.fileno(),))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    living: dict[int, tuple[int, int]] = {}  # a descriptor of the process: (pid, where to tell)
    while True:
        for fd, _ in poll.poll():
            if fd in living:
                poll.unregister(fd)
                _tell_end(fd, *living.pop(fd))
                continue
            text, fds, _, _ = socket.recv_fds(requests, 1 << 16, 20)
            if not text:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                requests.close()
                server._never_return(lambda: _worker(json.loads(text), fds))
            requests.send(str(pid).encode())
            for one in fds[1:]:
                os.close(one)
            process = os.pidfd_open(pid)
            living[process] = pid, fds[0]
            poll.register(process, select.POLLIN)


def _tell_end(process: int, pid: int, tell: int) -> None:
    os.close(process)
    _, status, used = os.wait4(pid, 0)
    text = f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime} "
    with contextlib.suppress(BrokenPipeError):
        os.write(tell, f"{text}{used.ru_maxrss * 1024}".encode())
    os.close(tell)


def _worker(request: dict, fds: list[int]) -> None:
    """What `tests.forked.server` makes of a fork, with descriptors of the same numbers."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in fds]
    passed = request["passed"]
    for fd, number in zip(high[3:], passed, strict=True):
        os.dup2(fd, number)
    streams = [
        subprocess.DEVNULL if discard else fd
        for discard, fd in zip(request["discard"], high[1:3], strict=True)
    ]
    os.chdir(request["cwd"])
    places.START = last_event._CWD = places._cwd()
    tempfile.tempdir = None
    runner.watch_files(Path(request["folder"]))
    server._worker(request["arguments"], *streams, passed, request["env"])
