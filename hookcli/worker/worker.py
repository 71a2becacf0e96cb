"""Start a worker and wait for its answer, whatever the model does meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from types import TracebackType

from hookcli.errors import raise_if_signalled
from hookcli.memory import available
from hookcli.spec.request import Interpreter, Terminal
from hookcli.system.signals import ending_delayed
from hookcli.worker import processes
from hookcli.worker.interpreter.choice import choose
from hookcli.worker.interpreter.start_failure import (
    cannot_start,
    ended_at_start,
    python_too_old,
    too_old,
)
from hookcli.worker.last_event import LastEvent, LastEventReader
from hookcli.worker.process import Process, started
from hookcli.worker.progress.screen import follow
from hookcli.worker.protocol import (
    PIPE_LOST,
    Answer,
    Crash,
    DamagedAnswerError,
    FailureMessage,
    Inbox,
    Job,
    Reason,
    encoded_job,
    write_all,
)
from hookcli.worker.systems import LINUX

TICK = 0.05  # seconds between checks of memory
_GRACE = 2.0  # seconds for the model's exit handlers
_DUMP_WAIT = 1.0  # seconds, at most, for a hanging child to write where it is
_PIPE = 1 << 12  # bytes that fit into every pipe
_RESERVE = 256 << 20  # bytes: if the machine has less left, the worker is ended


@dataclass(slots=True)
class Pauses:
    """How long the command has waited for the user."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`deadline` in `time.monotonic` seconds; `memory` in bytes of the whole process tree.

    The time that a debugger waited for the user is in `pauses`, and does not count.
    """

    deadline: float
    timeout: float
    memory: int | None
    pauses: Pauses = field(default_factory=Pauses)

    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline + self.pauses.seconds


class Worker:
    """One child process with its pipes. A context manager that always ends the process group."""

    def __init__(self, job: Job, limits: Limits) -> None:
        self._limits = limits
        terminal = job.spec.terminal
        self._terminal = terminal
        self._checked = time.monotonic()
        self._python = job.spec.run.python or choose(None)
        self._process = _process(self._python, terminal)
        self._child = self._process.child
        try:
            self._box = LastEventReader(self._process.events, self._process.dump)
        except OSError:  # files may be limited in size
            self._process.end()
            raise
        self._inbox = Inbox(job.token)
        self._known: set[int] = set()
        if LINUX:
            self._known.update(processes.children(os.getpid()))
            self._known.discard(self._child.pid)
        self._sending = _send(self._process.job, encoded_job(job))
        # The debugger asks at the terminal: no progress may be in its way.
        self._unfollow = follow(job, self.last) if terminal is None else None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process group and the processes that left it, and close all descriptors."""
        if self._unfollow is not None:
            self._unfollow()
        with ending_delayed():
            processes.end_group(self._child.pid)
            self._child.wait()
            processes.end_group(self._child.pid)  # processes that were forked meanwhile
            processes.end_orphans(self._known)
            if self._sending is not None:
                self._sending.join(_GRACE)  # the pipe has no reader any more
            self._process.close()

    @property
    def resident(self) -> int:
        """The resident bytes of the child and all its descendants."""
        return processes.resident(self._child.pid)

    def last(self) -> LastEvent:
        """Return the child's last event."""
        return self._box.last()

    def wait(self, check: Callable[[], None]) -> Answer:
        """Wait for the child's answer. `check` is called at every tick, and may raise to stop.

        After an answer, the model's exit handlers get time to run before this returns.
        """
        processes.adopt_orphans()
        with (
            selectors.DefaultSelector() as selector,
            self.watched(selector),
            self._signals(),
        ):
            while True:
                ready = {key.fd for key, _ in selector.select(TICK)}
                answer = self.look(ready)
                if answer is not None:
                    break
                raise_if_signalled()
                check()
        self.linger(answer)
        return answer

    def _signals(self) -> contextlib.AbstractContextManager[None]:
        """Pass Ctrl-C and Ctrl-Z on to a debugger, if there may be one."""
        if self._terminal is None:
            return contextlib.nullcontext()
        from hookcli.worker.terminal import signals_passed_on

        return signals_passed_on(self._child.pid, self._terminal)

    @contextlib.contextmanager
    def watched(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """Wake the selector when the child writes or ends."""
        selector.register(self._process.answer, selectors.EVENT_READ)
        with _exit_of(self._child.pid, selector):
            yield
        selector.unregister(self._process.answer)

    def look(self, ready: Collection[int]) -> Answer | None:
        """Return the answer if there is one; a crash if the child ended or must be ended."""
        exited = self._child.poll() is not None
        ended = self._read(ready) or exited
        if exited:
            self._drain()
        try:
            answer = self._inbox.answer()
        except DamagedAnswerError:
            return self._crash("died", "the model wrote to the pipe that carries its report")
        if answer is not None:
            return answer
        return self._died() if ended else self._over_limits()

    def linger(self, answer: Answer) -> None:
        """Give the exit handlers of a model that answered time to run."""
        if not isinstance(answer, Crash):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_GRACE)

    def _read(self, ready: Collection[int]) -> bool:
        """Read the available bytes; return True if the child closed its end."""
        if self._process.answer not in ready:
            return False
        data = os.read(self._process.answer, 1 << 20)
        self._inbox.feed(data)
        return not data

    def _drain(self) -> None:
        os.set_blocking(self._process.answer, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._process.answer, 1 << 20):
                self._inbox.feed(data)

    def _died(self) -> Crash | FailureMessage:
        lost = "the model closed the pipe that carries its report"
        try:
            status = self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return self._crash("died", lost)
        refused = self._not_started(status)
        if refused is not None:
            return refused
        if status == PIPE_LOST and self._box.last().phase == "report":
            return self._crash("died", lost)
        if status >= 0:
            return self._crash("died", f"the process exited with status {status}")
        if -status == signal.SIGKILL:
            return self._crash(
                "memory", "the process was killed, as the system does when memory runs out"
            )
        cause = processes.signal_in_words(-status)
        return self._crash("died", f"the process was killed by {cause}")

    def _not_started(self, status: int) -> FailureMessage | None:
        """Return why the child ended before it could run hookcli; None if it could."""
        version = self._inbox.python
        if version is None:
            return FailureMessage("start", ended_at_start(self._python, status))
        if too_old(version):
            return FailureMessage("start", python_too_old(self._python, version))
        return None

    def _over_limits(self) -> Crash | None:
        self._note_pause()
        if self._limits.passed():
            limit = f"{self._limits.timeout:g} s (--timeout)"
            return self.stopped("timeout", f"the run took longer than {limit}")
        if self._limits.memory is not None:
            used = self.resident
            if used > self._limits.memory:
                most = f"--max-memory {self._limits.memory / 1e9:g} GB"
                return self.stopped("memory", f"{used / 1e9:.2f} GB used, over {most}")
        left = available()
        if left is not None and left < _RESERVE:
            return self.stopped("memory", "the machine ran out of memory")
        return None

    def _note_pause(self) -> None:
        """Do not count the time since the last check if the debugger waits for the user."""
        if self._terminal is None:
            return
        now = time.monotonic()
        if self._terminal.asks():
            self._limits.pauses.seconds += now - self._checked
        self._checked = now

    def stopped(self, reason: Reason, message: str) -> Crash:
        """Return a crash for a child that still runs; its event is read first: it goes on."""
        last = self._box.last()
        self._request_dump()
        return self._crash(reason, message, last)

    def _request_dump(self) -> None:
        """Make the child dump its Python stack, even from an endless loop in C."""
        if self._inbox.python is None:  # the signal would only end it
            return
        until = time.monotonic() + _DUMP_WAIT
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGUSR1)
        while self._box.dumped_place() is None and time.monotonic() < until:
            time.sleep(TICK)

    def _crash(self, reason: Reason, message: str, last: LastEvent | None = None) -> Crash:
        last = last or self._box.last()
        return Crash(
            reason=reason,
            message=message,
            phase=last.phase,
            layer=last.layer,
            call=last.call,
            place=self._box.dumped_place() or last.place,
            python=self._inbox.python,
        )


def _send(fd: int, data: bytes) -> threading.Thread | None:
    """Write the job to the child; in a thread if it does not fit into a pipe.

    A child that hangs before it reads the job must not prevent the time limit.
    """

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):
            write_all(fd, data)

    if len(data) <= _PIPE:
        write()
        return None
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def _process(python: Interpreter, terminal: Terminal | None) -> Process:
    """Return a process of this interpreter.

    Raises
    ------
    RequestError : the system cannot run the interpreter.
    """
    try:
        if terminal is None:
            return started(python.path)
        return Process(python.path, (terminal.screen, terminal.prompt))
    except OSError as error:
        if error.filename is None:  # there are too many processes, or no memory
            raise
        if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}:
            raise OSError(error.errno, error.strerror) from None  # not the file's fault
        raise cannot_start(python, error) from None


@contextlib.contextmanager
def _exit_of(pid: int, selector: selectors.BaseSelector) -> Iterator[None]:
    """Wake the selector when the process ends, if the system supports it."""
    opener = getattr(os, "pidfd_open", None)
    try:
        fd = opener(pid) if opener is not None else None
    except OSError:
        fd = None
    if fd is None:
        yield
        return
    selector.register(fd, selectors.EVENT_READ)
    try:
        yield
    finally:
        selector.unregister(fd)
        os.close(fd)
