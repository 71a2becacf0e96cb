"""Starting a worker and waiting for its answer, whatever the model does meanwhile."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from types import TracebackType

from hookcli.memory import available
from hookcli.worker import processes
from hookcli.worker.last_event import LastEvent, LastEventReader
from hookcli.worker.process import Process, started
from hookcli.worker.progress.screen import follow
from hookcli.worker.protocol import PIPE_LOST, Answer, Crash, Inbox, Job, Reason, send_job

TICK = 0.05  # seconds between looks at memory
_GRACE = 2.0  # seconds that the model's exit handlers have
_DUMP_WAIT = 1.0  # seconds, at most, for a hanging child to write where it is
_RESERVE = 256 << 20  # bytes: with less left on the machine, the worker is what gives way


@dataclass(slots=True)
class Pauses:
    """How long a command has waited for the user."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`deadline` in `time.monotonic` seconds; `memory` in bytes of the whole process tree.

    What a debugger waited for the user is in `pauses`, and does not count.
    """

    deadline: float
    timeout: float
    memory: int | None
    pauses: Pauses = field(default_factory=Pauses)

    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline + self.pauses.seconds


class Worker:
    """One child process with its pipes. A context: on every way out the process group ends."""

    def __init__(self, job: Job, limits: Limits) -> None:
        self._limits = limits
        terminal = job.spec.terminal
        self._terminal = terminal
        self._looked = time.monotonic()
        self._process = (
            started() if terminal is None else Process((terminal.screen, terminal.prompt))
        )
        self._child = self._process.child
        self._box = LastEventReader(self._process.events, self._process.dump)
        self._inbox = Inbox()
        self._known: set[int] = set()
        if processes.LINUX:
            self._known.update(processes.children(os.getpid()))
            self._known.discard(self._child.pid)
        with contextlib.suppress(BrokenPipeError):
            send_job(self._process.job, job)
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
        """Kill the process group and what left it, and free everything."""
        if self._unfollow is not None:
            self._unfollow()
        with processes.undisturbed():
            processes.end_group(self._child.pid)
            self._child.wait()
            processes.end_group(self._child.pid)  # those that were forked meanwhile
            processes.end_orphans(self._known)
            self._process.close()

    @property
    def resident(self) -> int:
        """Bytes that the child and all below it hold."""
        return processes.resident(self._child.pid)

    def last(self) -> LastEvent:
        """Where the child has come."""
        return self._box.last()

    def wait(self, check: Callable[[], None]) -> Answer:
        """The child's answer. `check` is called at every tick, and may raise to end the wait.

        With an answer, the model's exit handlers have had their time on return.
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
                check()
        self.linger(answer)
        return answer

    def _signals(self) -> contextlib.AbstractContextManager[None]:
        """Ctrl-C and Ctrl-Z are also the debugger's, where there may be one."""
        if self._terminal is None:
            return contextlib.nullcontext()
        from hookcli.worker.terminal import signals_passed_on

        return signals_passed_on(self._child.pid, self._terminal)

    @contextlib.contextmanager
    def watched(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """Wake the selector when there is something to look at."""
        selector.register(self._process.answer, selectors.EVENT_READ)
        with _exit_of(self._child.pid, selector):
            yield
        selector.unregister(self._process.answer)

    def look(self, ready: Collection[int]) -> Answer | None:
        """The answer, as soon as there is one; a crash where the child ended, or is to end."""
        exited = self._child.poll() is not None
        ended = self._read(ready) or exited
        if exited:
            self._drain()
        answer = self._inbox.answer()
        if answer is not None:
            return answer
        return self._died() if ended else self._over_limits()

    def linger(self, answer: Answer) -> None:
        """Let the exit handlers of the model that answered have their time."""
        if not isinstance(answer, Crash):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_GRACE)

    def _read(self, ready: Collection[int]) -> bool:
        """Take what has come; True where the child closed its end."""
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

    def _died(self) -> Crash:
        lost = "the model closed the pipe that carries its report"
        try:
            status = self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return self._crash("died", lost)
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
        """Let the time since the last look not count where the debugger asks the user."""
        if self._terminal is None:
            return
        now = time.monotonic()
        if self._terminal.asks():
            self._limits.pauses.seconds += now - self._looked
        self._looked = now

    def stopped(self, reason: Reason, message: str) -> Crash:
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
        selector.unregister(fd)
        os.close(fd)
