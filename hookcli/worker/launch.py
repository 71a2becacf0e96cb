"""Starting a worker and waiting for its answer, whatever the model does meanwhile."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hookcli.memory import available
from hookcli.worker import processes
from hookcli.worker.blackbox import BlackBox, LastEvent
from hookcli.worker.protocol import Answer, Crash, Inbox, Job, send_job

_MAIN = Path(__file__).with_name("__main__.py")
_HOME = Path(__file__).parent.parent.parent
_TICK = 0.05  # seconds between looks at memory
_GRACE = 2.0  # seconds that the model's exit handlers have
_DUMP_WAIT = 0.3  # seconds for a hanging child to write where it is
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
        self._box = BlackBox()
        self._known = set(processes.children(os.getpid())) if processes.LINUX else set()
        job_read, self._job_fd = os.pipe()
        self._answer_fd, answer_write = os.pipe()
        passed = (job_read, answer_write, *self._box.descriptors)
        try:
            self._child = subprocess.Popen(
                [sys.executable, str(_MAIN), *map(str, passed), str(_HOME)],
                stdin=subprocess.DEVNULL,
                stdout=_error_stream(),
                stderr=_error_stream(),
                pass_fds=passed,
                start_new_session=True,
            )
        finally:
            os.close(job_read)
            os.close(answer_write)
        with contextlib.suppress(BrokenPipeError):
            send_job(self._job_fd, job)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_GRACE)
        self.end()

    def end(self) -> None:
        """Kill the process group and free everything. May be called again."""
        processes.end_group(self._child.pid)
        self._child.wait()
        processes.end_group(self._child.pid)  # those that were forked meanwhile
        processes.end_orphans(self._known)
        for fd in (self._job_fd, self._answer_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._job_fd = self._answer_fd = -1

    def last(self) -> LastEvent:
        """Where the child has come."""
        return self._box.last()

    def wait(self, check: Callable[[], None]) -> Answer:
        """The child's answer. `check` is called at every tick, and may raise to end the wait."""
        processes.adopt_orphans()
        inbox = Inbox()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answer_fd, selectors.EVENT_READ)
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
        if not any(key.fd == self._answer_fd for key, _ in ready):
            return False
        data = os.read(self._answer_fd, 1 << 20)
        inbox.feed(data)
        return not data

    def _drain(self, inbox: Inbox) -> None:
        os.set_blocking(self._answer_fd, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._answer_fd, 1 << 20):
                inbox.feed(data)

    def _died(self) -> Crash:
        try:
            status = self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return self._crash("died", "the model closed hookcli's own pipe")
        if status >= 0:
            return self._crash("died", f"the process ended itself with exit status {status}")
        name = signal.Signals(-status).name
        if -status == signal.SIGKILL:
            return self._crash(
                "memory", "the process was killed, as the system does when memory runs out"
            )
        meaning = {
            signal.SIGSEGV: "a segmentation fault",
            signal.SIGABRT: "an abort in C or C++ code",
            signal.SIGBUS: "a bus error",
            signal.SIGFPE: "an arithmetic fault in C code",
            signal.SIGILL: "an instruction that this CPU does not have",
        }.get(signal.Signals(-status), "a signal")
        return self._crash("died", f"the process died of {name}: {meaning}")

    def _over_limits(self) -> Crash | None:
        if time.monotonic() > self._limits.deadline:
            self._ask_where()
            return self._crash("timeout", f"no end after {self._limits.timeout:g} s (--timeout)")
        if self._limits.memory is not None:
            used = processes.resident(self._child.pid)
            if used > self._limits.memory:
                self._ask_where()
                most = f"{self._limits.memory / 1e9:g} GB"
                return self._crash("memory", f"{used / 1e9:.2f} GB used, over --max-memory {most}")
        left = available()
        if left is not None and left < _RESERVE:
            self._ask_where()
            return self._crash("memory", "the machine's memory ran out")
        return None

    def _ask_where(self) -> None:
        """Have the child dump its Python stack, even from an endless loop in C."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGUSR1)
            time.sleep(_DUMP_WAIT)

    def _crash(self, reason: str, message: str) -> Crash:
        last = self._box.last()
        return Crash(
            reason=reason,  # type: ignore[arg-type]
            message=message,
            phase=last.phase,
            layer=last.layer,
            call=last.call,
            place=last.place,
        )


def _error_stream() -> int:
    """The parent's stderr for the model's output, or nowhere where that is closed."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


@contextlib.contextmanager
def _exit_of(pid: int, selector: selectors.BaseSelector):  # type: ignore[no-untyped-def]  # noqa: ANN202
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
