"""One run of a watched command, in a fork of this process that waits until it is needed.

The command runs as it does without `--watch`; nothing that it changes in the fork reaches the next
run. Its worker is started in advance, and so has imported torch, or is a fork of the fork server.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from hookcli.cli.targets import result_listener
from hookcli.cli.watch.result_facts import Facts, facts_of
from hookcli.errors import InterruptedRun, RequestError, Status, raise_if_signalled
from hookcli.system.signals import ENDING, ending_delayed
from hookcli.worker.process import end_unused, has_unused, shared_memory, start_ahead
from hookcli.worker.progress import screen
from hookcli.worker.watched import opened_files

if TYPE_CHECKING:
    from hookcli.formats.results import Result

TICK = 0.03  # seconds between looks at the files
_GRACE = 5.0  # seconds for a run that is interrupted to end its worker


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `facts` is None if it has no result; `modules` are those it imported.

    `used_worker` is false if no model ran, as for files of weights.
    """

    status: int
    out: str
    err: str
    facts: Facts | None
    modules: tuple[str, ...]
    used_worker: bool

    @property
    def is_fine(self) -> bool:
        """Whether there is a whole result to show."""
        return self.status in {Status.FINE, Status.FINDINGS}


class ReadyRun:
    """A fork of this process that runs a command after `go`, and records the files that it opens.

    A context manager that ends it. `record` is the path of the file to record in. `python` is the
    interpreter of a worker to start in advance; None for none.
    """

    def __init__(self, command: Callable[[], int], record: str, python: str | None) -> None:
        self._out, self._err, self._told = shared_memory(), shared_memory(), shared_memory()
        go, self._go = os.pipe()
        self._ended, ended = os.pipe()  # the fork alone has the other end
        self._is_over = False
        self.started = 0  # nanoseconds, of `time.time_ns`
        with ending_delayed():  # what Python itself does in the fork must not be interrupted
            self._pid = os.fork()
            if self._pid == 0:
                os.close(self._go)
                os.close(self._ended)
                _Fork(self._out, self._err, self._told).run(command, record, python, go)
        os.close(go)
        os.close(ended)

    def __enter__(self) -> ReadyRun:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_over:
            self.end()

    def go(self) -> None:
        """Begin the run."""
        self.started = time.time_ns()
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"g")

    def wait(self, is_superseded: Callable[[], bool]) -> RunOutcome | None:
        """Return the outcome; None if `is_superseded`, which is asked at each tick, ended the run.

        Raises
        ------
        InterruptedRun : a signal arrived.
        """
        while not select.select([self._ended], [], [], TICK)[0]:
            raise_if_signalled()
            if is_superseded():
                return None
        _, status = os.waitpid(self._pid, 0)
        told: dict[str, Any] = json.loads(_content(self._told) or "{}")
        outcome = RunOutcome(
            os.waitstatus_to_exitcode(status),
            _content(self._out, sys.stdout),
            _content(self._err, sys.stderr),
            told.get("facts"),
            tuple(told.get("modules", ())),
            told.get("used_worker", True),
        )
        self._close()
        return outcome

    def end(self) -> None:
        """End the run, or the wait for it. The fork ends its own worker."""
        os.close(self._go)
        self._go = -1
        for number, grace in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
            os.kill(self._pid, number)
            if select.select([self._ended], [], [], grace)[0]:
                break
        os.waitpid(self._pid, 0)
        self._close()

    def _close(self) -> None:
        self._is_over = True
        for fd in (self._out, self._err, self._told, self._ended, self._go):
            if fd >= 0:
                os.close(fd)


def _content(fd: int, stream: Any = None) -> str:
    encoding = encoding_of(stream)
    with open(fd, encoding=encoding, errors="backslashreplace", closefd=False) as file:
        file.seek(0)
        return file.read()


def encoding_of(stream: Any) -> str:
    """Return the encoding of a standard stream, which may be closed."""
    return getattr(stream, "encoding", None) or "utf-8"


class _Page(io.TextIOWrapper):
    """A stream into memory that says that it is a terminal if the stream in its place is."""

    def __init__(self, fd: int, place: Any) -> None:
        stream = open(fd, "wb", closefd=False)  # noqa: SIM115
        super().__init__(stream, encoding=encoding_of(place), write_through=True)
        self._is_terminal = place is not None and place.isatty()

    def isatty(self) -> bool:
        return self._is_terminal


class _Fork:
    """The run in the fork. Descriptor 1 stays: the width of the terminal is asked of it."""

    def __init__(self, out: int, err: int, told: int) -> None:
        self._told = told
        self._facts: Facts | None = None
        screen.close()  # no line of progress
        sys.stdout, sys.stderr = _Page(out, sys.stdout), _Page(err, sys.stderr)
        os.dup2(err, 2)  # after both have asked whether they are in the place of a terminal

    def run(self, command: Callable[[], int], record: str, python: str | None, go: int) -> NoReturn:
        """Run the command as soon as a byte is read, and end the process."""
        status = int(Status.BUG)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            opened_files.record_runs_in(record)
            if python is not None:
                with contextlib.suppress(OSError, RequestError):  # the run itself reports it
                    start_ahead(python)
            if os.read(go, 1):
                status = self._run(command, record)
        except InterruptedRun as interruption:
            status = int(interruption.status or Status.TERMINATED)
        finally:
            with contextlib.suppress(OSError, ValueError):
                end_unused()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _run(self, command: Callable[[], int], record: str) -> int:
        before = set(sys.modules)
        opened_files.record(record)
        result_listener.listen(self._listen)
        status = command()
        told = {
            "facts": self._facts,
            "modules": [name for name in sys.modules if name not in before],
            "used_worker": not has_unused(),
        }
        os.write(self._told, json.dumps(told).encode())
        return status

    def _listen(self, result: Result) -> None:
        self._facts = facts_of(result)
