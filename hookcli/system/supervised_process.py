"""A process that is started and waited for as if it were this one: signals reach it as they would.

Only Linux has all that this needs: `can_supervise` tells.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from hookcli.system.null_device import open_null

_ALL = signal.valid_signals()
_STOPS = {getattr(signal, name, None) for name in ("SIGTSTP", "SIGTTIN", "SIGTTOU")}
_TICK = 10.0  # seconds between two looks, should a signal be lost
_MEANWHILE = 0.02  # seconds within which a signal to several processes has reached all of them
_SET_PDEATHSIG = 1  # of prctl, in <sys/prctl.h>


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process has ended: by an exit status, or by a signal."""

    status: int | None
    signum: int | None

    @classmethod
    def of(cls, wait_status: int) -> ProcessEnd:
        """Return the end that os.waitpid tells."""
        code = os.waitstatus_to_exitcode(wait_status)
        return cls(code, None) if code >= 0 else cls(None, -code)


def can_supervise() -> bool:
    """Return whether this system has what `supervise` needs."""
    return sys.platform == "linux" and os.path.isdir("/proc/self/fd")  # noqa: PTH112


def supervise(run: Callable[[], object], keep: Collection[int]) -> ProcessEnd:
    """Call `run` in a child, which executes a program, pass signals on to it, and wait for its end.

    A signal that reached this process alone is sent to the child; one that reached the whole group
    or container has reached the child too. The child is killed if this process is. Of the files
    that this process has inherited, only those in `keep`, stdout and stderr stay open.
    All signals are blocked when this returns.

    Raises
    ------
    OSError : no child can be started, or `run` raised it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    on_child = signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else a child has no status
    prctl = _prctl()
    witness = _Witness.start(prctl)
    try:
        with _pipe() as (reader, writer):
            child = _forked(prctl)
            if not child:
                _become(run, before, on_child, writer)
            os.close(writer)
            _close_inherited({*keep, reader, *witness.descriptors})
            end = _Child(child, witness).wait()
            failure = _read(reader)
    except OSError:
        signal.signal(signal.SIGCHLD, on_child)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    finally:
        witness.end()
    if failure:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        number = int(failure)
        raise OSError(number, os.strerror(number))
    return end


def end_as(end: ProcessEnd) -> int:
    """Return the exit status of an end. A signal ends this process, without a core file."""
    if end.signum is None:
        return end.status or 0
    import resource

    with contextlib.suppress(OSError, ValueError):  # the child has written it
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
        signal.signal(end.signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {end.signum})
    os.kill(os.getpid(), end.signum)
    return 128 + end.signum  # it is the first process of a container, which signals do not end


class _Child:
    """The child, to which signals are passed on."""

    def __init__(self, pid: int, witness: _Witness) -> None:
        self._pid, self._witness = pid, witness

    def wait(self) -> ProcessEnd:
        """Return the end of the child. This process stops and continues with it."""
        while True:
            info = signal.sigtimedwait(_ALL, _TICK)
            if info is not None and info.si_signo != signal.SIGCHLD:
                self._pass_on(info.si_signo)
            while True:
                pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
                if not pid:
                    break
                if not os.WIFSTOPPED(status):
                    return ProcessEnd.of(status)
                if os.WSTOPSIG(status) in _STOPS:
                    os.kill(os.getpid(), signal.SIGSTOP)
                    signal.sigtimedwait({signal.SIGCONT}, 0)  # passed on now
                    os.kill(self._pid, signal.SIGCONT)

    def _pass_on(self, number: int) -> None:
        if not self._witness.has_got(number):
            os.kill(self._pid, number)


class _Witness:
    """A process beside the child that does nothing but keep the signals that it gets.

    Signals do not tell whether they were sent to one process or to the whole group, session or
    container. What the witness gets too, the child has got. The system shows what it has kept.
    """

    def __init__(self, pid: int, ask: int, answer: int) -> None:
        self._pid, self._ask, self._answer = pid, ask, answer
        self.descriptors = {ask, answer} if pid else set()

    @classmethod
    def start(cls, prctl: Callable[..., Any]) -> _Witness:
        """Start it. If that is not possible, it never gets a signal."""
        try:
            asked, ask = os.pipe()
            answer, answered = os.pipe()
            pid = _forked(prctl)
        except OSError:
            return cls(0, -1, -1)
        if not pid:
            _keep_signals(asked, answered)
        os.close(asked)
        os.close(answered)
        return cls(pid, ask, answer)

    def has_got(self, number: int) -> bool:
        """Return whether a signal that this process has got just now has reached the witness."""
        until = time.monotonic() + _MEANWHILE
        while self._pid:
            if self._keeps(number):
                with contextlib.suppress(BrokenPipeError):  # somebody has killed it
                    os.write(self._ask, bytes([number]))
                    os.read(self._answer, 1)  # the next one is another one
                return True
            if time.monotonic() > until:
                break
            time.sleep(_MEANWHILE / 10)
        return False

    def _keeps(self, number: int) -> bool:
        try:
            with open(f"/proc/{self._pid}/status") as status:  # noqa: PTH123
                pending = [int(line[7:], 16) for line in status if line.startswith("ShdPnd:")]
        except OSError:
            return False
        return any(mask >> (number - 1) & 1 for mask in pending)

    def end(self) -> None:
        """End the process."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            os.close(self._ask)
            os.close(self._answer)
            self._pid = 0


def _keep_signals(asked: int, answered: int) -> None:
    """Forget each signal whose number is read, until this process is killed."""
    try:
        for number in _open_files() - {asked, answered}:
            with contextlib.suppress(OSError):
                os.close(number)
        while read := os.read(asked, 1):
            signal.sigtimedwait({read[0]}, 0)
            os.write(answered, read)
    finally:
        os._exit(0)


def _prctl() -> Callable[..., Any]:
    """Return the function of the C library; one that does nothing if Python has no ctypes."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_arguments: 0


def _forked(prctl: Callable[..., Any]) -> int:
    """Fork. The child is killed when this process ends."""
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before
            os._exit(1)
    return pid


def _become(run: Callable[[], object], mask: Any, on_child: Any, writer: int) -> None:
    """Call `run`, with the signals as this process has had them. This never returns."""
    try:
        for number in _ALL:
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        if on_child is not None:
            signal.signal(signal.SIGCHLD, on_child)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        run()
    except OSError as error:
        os.write(writer, b"%d" % (error.errno or errno.EIO))
    finally:
        os._exit(127)


@contextlib.contextmanager
def _pipe() -> Any:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        for number in (reader, writer):
            with contextlib.suppress(OSError):
                os.close(number)


def _read(reader: int) -> bytes:
    """Return what the child wrote; a process that it forked may have the pipe open still."""
    os.set_blocking(reader, False)
    try:
        return os.read(reader, 16)
    except BlockingIOError:
        return b""


def _open_files() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208


def _close_inherited(keep: Collection[int]) -> None:
    """Close what the child alone shall have, so that its other end sees when it is closed.

    Files of hookcli are not inheritable, unless they are in `keep`.
    """
    for number in _open_files() - {1, 2, *keep}:
        with contextlib.suppress(OSError):
            if number == 0:
                null = open_null()
                os.dup2(null, 0)
                os.close(null)
            elif os.get_inheritable(number):
                os.close(number)
