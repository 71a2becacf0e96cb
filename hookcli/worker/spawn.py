"""What starts the worker's process: an interface, as tests start it in another way."""

from __future__ import annotations

from typing import Protocol


class ChildProcess(Protocol):
    """A started process, with the methods of `subprocess.Popen` that hookcli uses."""

    @property
    def pid(self) -> int:
        """Its number, which is also that of its session and its process group."""

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended.

        Raises
        ------
        subprocess.TimeoutExpired : it still runs after `timeout` seconds.

        """

    def kill(self) -> None:
        """End it at once."""


class Spawn(Protocol):
    """Starts Python with these arguments, in a session of its own and without standard input.

    `stdout` and `stderr` are descriptors or `subprocess.DEVNULL`; those in `pass_fds` keep their
    numbers.
    """

    def __call__(
        self,
        arguments: list[str],
        *,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        env: dict[str, str],
    ) -> ChildProcess:
        """The process.

        Raises
        ------
        OSError : none can be started.

        """
