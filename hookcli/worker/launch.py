"""Starting a worker and waiting for its answer, whatever the model does meanwhile."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType

from hookcli.memory import available
from hookcli.worker import processes
from hookcli.worker.blackbox import BlackBox, LastEvent
from hookcli.worker.protocol import PIPE_LOST, Answer, Crash, Inbox, Job, Reason, send_job
from hookcli.worker.start import started

_TICK = 0.05  # seconds between looks at memory
_GRACE = 2.0  # seconds that the model's exit handlers have
_DUMP_WAIT = 1.0  # seconds, at most, for a hanging child to write where it is
_RESERVE = 256 << 20  # bytes: with less left on the machine, the worker is what gives way


@dataclass(frozen=True, slots=True)
class Limits:
    """`deadline` in `time.monotonic` seconds; `memory` in bytes of the whole process tree."""

    deadline: float
    timeout: float
    memory: int | None


class Worker:
    """One child process with its pipes. A context: on every way out the process group ends."""

    def __init__(self, job: Job, limits: Limits) -> None:
        self._limits = limits
        self._process = started()
        self._child = self._process.child
        self._box = BlackBox(self._process.events, self._process.dump)
        self._known: set[int] = set()
        if processes.LINUX:
            self._known.update(processes.children(os.getpid()))
            self._known.discard(self._child.pid)
        with contextlib.suppress(BrokenPipeError):
            send_job(self._process.job, job)

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
        """Kill the process group and what left it, and free everything."""
        with processes.undisturbed():
            processes.end_group(self._child.pid)
            self._child.wait()
            processes.end_group(self._child.pid)  # those that were forked meanwhile
            processes.end_orphans(self._known)
            self._process.close()

    def last(self) -> LastEvent:
        """Where the child has come."""
        return self._box.last()

    def wait(self, check: Callable[[], None]) -> Answer:
        """The child's answer. `check` is called at every tick, and may raise to end the wait.

        With an answer, the model's exit handlers have had their time on return.
        """
        answer = self._answer(check)
        if not isinstance(answer, Crash):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_GRACE)
        return answer

    def _answer(self, check: Callable[[], None]) -> Answer:
        processes.adopt_orphans()
        inbox = Inbox()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.answer, selectors.EVENT_READ)
            with _exit_of(self._child.pid, selector):
                while True:
                    ready = selector.select(_TICK)
                    exited = self._child.poll() is not None
                    ended = self._read(inbox, ready) or exited
                    if exited:
                        self._drain(inbox)
                    answer = inbox.answer()
                    if answer is not None:
                        return answer
                    if ended:
                        return self._died()
                    check()
                    crash = self._over_limits()
                    if crash is not None:
                        return crash

    def _read(self, inbox: Inbox, ready: list[tuple[selectors.SelectorKey, int]]) -> bool:
        """Take what has come; True where the child closed its end."""
        if not any(key.fd == self._process.answer for key, _ in ready):
            return False
        data = os.read(self._process.answer, 1 << 20)
        inbox.feed(data)
        return not data

    def _drain(self, inbox: Inbox) -> None:
        os.set_blocking(self._process.answer, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._process.answer, 1 << 20):
                inbox.feed(data)

    def _died(self) -> Crash:
        lost = "the model closed the pipe over which its report was to come"
        try:
            status = self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return self._crash("died", lost)
        if status == PIPE_LOST and self._box.last().phase == "report":
            return self._crash("died", lost)
        if status >= 0:
            return self._crash("died", f"the process ended itself with exit status {status}")
        if -status == signal.SIGKILL:
            return self._crash(
                "memory", "the process was killed, as the system does when memory runs out"
            )
        return self._crash("died", f"the process died of {processes.signal_in_words(-status)}")

    def _over_limits(self) -> Crash | None:
        if time.monotonic() > self._limits.deadline:
            return self._stopped("timeout", f"no end after {self._limits.timeout:g} s (--timeout)")
        if self._limits.memory is not None:
            used = processes.resident(self._child.pid)
            if used > self._limits.memory:
                most = f"--max-memory {self._limits.memory / 1e9:g} GB"
                return self._stopped("memory", f"{used / 1e9:.2f} GB used, over {most}")
        left = available()
        if left is not None and left < _RESERVE:
            return self._stopped("memory", "the machine's memory ran out")
        return None

    def _stopped(self, reason: Reason, message: str) -> Crash:
        """A crash of a child that still runs: it goes on, so its event is read at once."""
        last = self._box.last()
        self._ask_where()
        return self._crash(reason, message, last)

    def _ask_where(self) -> None:
        """Have the child dump its Python stack, even from an endless loop in C."""
        until = time.monotonic() + _DUMP_WAIT
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGUSR1)
        while self._box.dumped_place() is None and time.monotonic() < until:
            time.sleep(_TICK)

    def _crash(self, reason: Reason, message: str, last: LastEvent | None = None) -> Crash:
        last = last or self._box.last()
        return Crash(
            reason=reason,
            message=message,
            phase=last.phase,
            layer=last.layer,
            call=last.call,
            place=self._box.dumped_place() or last.place,
        )


@contextlib.contextmanager
def _exit_of(pid: int, selector: selectors.BaseSelector) -> Iterator[None]:
    """Wake the selector when the process ends, where the system can say so."""
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
        os.close(fd)
