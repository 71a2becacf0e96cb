"""The side of the tests: one server a test process, started at its first request."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

from tests.forked.inherited import heed_signals

SERVER = Path(__file__).with_name("server.py")


class Command:
    """A command under way, with the methods of Popen."""

    def __init__(self, args: list[str], pid: int, answers: socket.socket, lock) -> None:
        self.pid, self.returncode = pid, None
        self._args, self._answers, self._lock = args, answers, lock

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                self.returncode = int(self._answers.recv(32))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self._args, timeout) from None
            self._lock.release()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """A server, and the only one to talk to it."""

    def __init__(self, env: dict[str, str]) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, str(SERVER), str(other.fileno())],
                env={**env, "PYTHONHASHSEED": "0"},
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                preexec_fn=heed_signals,
            )
        self._free = threading.Lock()
        self._socket.settimeout(240)  # torch is imported, perhaps on a busy machine
        assert self._socket.recv(16) == b"ready"

    def run(
        self,
        args: list[str],
        cwd: Path,
        env: dict[str, str],
        text: str | None,
        timeout: int,
        program: str = "hookcli",
    ):
        """(exit status, stdout, stderr) of a command; TimeoutExpired where it does not end.

        `program` is "hookcli", or "python" with a file as its first argument.
        """
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write((text or "").encode())
            given.seek(0)
            status = self.run_with((given, out, err), args, cwd, env, timeout, program)
            return status, *(_text(stream) for stream in (out, err))

    def run_with(
        self,
        streams,
        args: list[str],
        cwd: Path,
        env: dict[str, str],
        timeout: int,
        program: str = "hookcli",
    ):
        """The exit status of a command with these as its standard streams."""
        command = self.start(streams, args, cwd, env, program)
        try:
            return command.wait(timeout)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait(10)
            raise

    def start(
        self,
        streams,
        args: list[str],
        cwd: Path,
        env: dict[str, str],
        program: str = "hookcli",
        session: str = "inherited",
        faults: dict[str, object] | None = None,
    ) -> Command:
        """Start a command with these as its standard streams. No other runs until it has ended.

        With `session` "own" it leads a session, and heeds Ctrl-C even if this process ignores it;
        with "terminal", stderr is also the controlling terminal of that session. `faults` are the
        arguments of the server's `_faults`.
        """
        self._free.acquire()
        asked = {"program": program, "args": args, "cwd": str(cwd), "env": env, "session": session}
        asked["faults"] = faults or {}
        fds = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        self._socket.settimeout(120)
        socket.send_fds(self._socket, [json.dumps(asked).encode()], fds)
        return Command(args, int(self._socket.recv(32)), self._socket, self._free)

    def left_over(self) -> list[int]:
        """The processes that commands have left behind."""
        with self._free:
            self._socket.settimeout(120)
            self._socket.send(json.dumps({"program": "left over"}).encode())
            return json.loads(self._socket.recv(1 << 16))

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait(10)


def _text(stream) -> str:
    stream.seek(0)
    return stream.read().decode().replace("\r\n", "\n")


@cache
def server(*env: tuple[str, str]) -> Server:
    """The server of this process, in this environment."""
    found = Server(dict(env))
    atexit.register(found.close)
    return found
