"""The interface of the function that starts the worker's process; tests use another one."""

from __future__ import annotations

from typing import Protocol


class ChildProcess(Protocol):
    """A started process, with the methods of `subprocess.Popen` that hookcli uses."""

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its session and its process group."""

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return the exit status.

        Raises
        ------
        subprocess.TimeoutExpired : it still runs after `timeout` seconds.

        """

    def kill(self) -> None:
        """Kill it."""


class Spawn(Protocol):
    """Start Python with arguments, in a new session and without standard input.

    `stdout` and `stderr` are descriptors or `subprocess.DEVNULL`. The descriptors in `pass_fds`
    keep their numbers.
    """

    def __call__(
        self,
        command: list[str],
        *,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        env: dict[str, str],
    ) -> ChildProcess:
        """Start the process.

        Raises
        ------
        OSError : it cannot be started.

        """
