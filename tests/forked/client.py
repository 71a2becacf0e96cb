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

SERVER = Path(__file__).with_name("server.py")


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
            )
        self._free = threading.Lock()
        self._socket.settimeout(120)
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
        with self._free:
            asked = {"program": program, "args": args, "cwd": str(cwd), "env": env}
            request = json.dumps(asked).encode()
            fds = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
            socket.send_fds(self._socket, [request], fds)
            pid = int(self._socket.recv(32))
            self._socket.settimeout(timeout)
            try:
                status = int(self._socket.recv(32))
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._socket.settimeout(10)
                self._socket.recv(32)
                raise subprocess.TimeoutExpired(args, timeout) from None
            return status

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
