"""The terminal behind stderr, which the worker's output and one line of progress share.

The worker writes to a pseudo-terminal in place of the user's. A thread copies its bytes to the
user's terminal as they are, and draws the line of progress only while the cursor is at the start
of a line. So neither can damage the other, and the worker, which writes to a terminal as before,
does nothing for it: what it runs is read from memory that it writes for crashes anyway.

Without a terminal, with -q, with TERM=dumb, in CI and under torchrun there is no `Screen`, and the
worker writes to stderr itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time

TYPE_CHECKING = False  # as type checkers know it: importing typing takes a while
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookcli.worker.last_event import LastEvent
    from hookcli.worker.progress.line import Running
    from hookcli.worker.protocol import Job

STDERR = 2
_DELAY = 0.3  # seconds: a quick run shows nothing
_TICK = 0.1  # seconds between two looks at what runs
_CHUNK = 1 << 16  # bytes copied at a time
_MOST_LEFT = 1 << 20  # bytes copied before something else is printed: a process may never stop
_NARROWEST = 10  # columns in which a line makes sense
_ERASE = b"\r\x1b[K"
_CI = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "BUILDKITE", "JENKINS_URL")


class _State:
    """What `allow` set, and the screen once a worker was started."""

    def __init__(self) -> None:
        self.started: float | None = None  # None: no progress is allowed
        self.encoding = "ascii"
        self.screen: Screen | None = None


_state = _State()  # one for the process, as is its stderr


def allow(encoding: str | None, *, quiet: bool) -> None:
    """Let runs from now on show progress, if stderr is a terminal where that is welcome."""
    if not quiet and _is_welcome():
        _state.started, _state.encoding = time.monotonic(), encoding or "ascii"


def close() -> None:
    """Take back what `allow` allowed; everything that was written is on the terminal afterwards."""
    screen, _state.screen, _state.started = _state.screen, None, None
    if screen is not None:
        screen.close()


def worker_stream() -> int:
    """The descriptor for a worker's output: stderr, or the pseudo-terminal before it."""
    if _state.screen is None and _state.started is not None:
        try:
            _state.screen = Screen(_state.started, _state.encoding)
        except OSError:  # there are no pseudo-terminals left
            _state.started = None
    return STDERR if _state.screen is None else _state.screen.slave


def follow(job: Job, last: Callable[[], LastEvent]) -> Callable[[], None]:
    """Show what a worker runs, until the function that is returned is called."""
    return (lambda: None) if _state.screen is None else _state.screen.follow(job, last)


@contextlib.contextmanager
def shown(*, quiet: bool = False) -> Iterator[None]:
    """Show progress meanwhile; its line is erased afterwards."""
    screen = _state.screen
    if screen is None or quiet:
        yield
        return
    from hookcli.console import settle_with  # not before the worker is started: it takes a while

    screen.shows = True
    settle_with(screen.settle)
    try:
        yield
    finally:
        screen.shows = False
        settle_with(None)
        screen.settle()


@contextlib.contextmanager
def labelled(text: str) -> Iterator[None]:
    """Begin the line with this: which of several runs it is."""
    screen = _state.screen
    if screen is None:
        yield
        return
    before, screen.label = screen.label, text
    try:
        yield
    finally:
        screen.label = before


def _is_welcome() -> bool:
    """Whether stderr is a terminal that can erase a line, and a person's alone."""
    if not os.isatty(STDERR) or os.environ.get("TERM") == "dumb" or os.environ.get("RANK"):
        return False  # RANK: torchrun's ranks share one terminal
    return all(os.environ.get(name, "").lower() in {"", "0", "false"} for name in _CI)


class Screen:
    """The user's terminal, a pseudo-terminal for the worker, and the thread between them.

    `started` is when the command did, in `time.monotonic` seconds; `tick` how many seconds the
    thread sleeps at the most.

    Raises
    ------
    OSError : no pseudo-terminal can be opened.

    """

    def __init__(
        self, started: float, encoding: str, *, terminal: int = STDERR, tick: float = _TICK
    ) -> None:
        from tty import setraw

        self._master, self.slave = os.openpty()
        setraw(self.slave)  # bytes arrive as they were written
        self._started, self._encoding = started, encoding
        self._terminal, self._tick = terminal, tick
        self._workers: list[Running] = []
        self.label = ""
        self.shows = False
        self._drawn = b""
        self._line_start = True  # whether the cursor is at the start of a line
        self._open = True
        self._size: object = None
        self._copy_size()
        self._ready = self._poller()
        self._lock = threading.Lock()
        threading.Thread(target=self._work, daemon=True).start()

    def follow(self, job: Job, last: Callable[[], LastEvent]) -> Callable[[], None]:
        """Show what this worker runs until the function that is returned is called."""
        from hookcli.spec.plan import plan
        from hookcli.worker.progress.line import Running

        worker = Running(job.attempt, plan(job.spec).steps, last)
        with self._lock:
            self._workers.append(worker)

        def leave() -> None:
            with self._lock:
                self._workers.remove(worker)

        return leave

    def settle(self) -> None:
        """Copy what the worker has written so far, and erase the line."""
        with self._lock:
            if self._open:
                self._copy_output(_MOST_LEFT)
            self._erase()

    def close(self) -> None:
        """Settle, and end."""
        self.settle()
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._master)
                os.close(self.slave)

    def _work(self) -> None:
        # A job in the background may print even on a terminal that stops such jobs (stty tostop).
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        woken = self._poller()  # of its own: two threads must not use one at once
        while True:
            woken.poll(self._tick * 1000)
            with self._lock:
                if not self._open:
                    return
                self._copy_output(_CHUNK)
                self._copy_size()
                try:
                    self._draw()
                except Exception:  # noqa: BLE001  # a wrong line must not hold up the model's output
                    self.shows = False

    def _poller(self) -> select.poll:
        poller = select.poll()
        poller.register(self._master, select.POLLIN)
        return poller

    def _copy_output(self, most: int) -> None:
        """Copy what the worker wrote to the user's terminal."""
        while most > 0 and self._ready.poll(0):
            try:
                data = os.read(self._master, _CHUNK)
            except OSError:
                return
            self._erase()
            self._write(data)
            self._line_start = data.endswith(b"\n")
            most -= len(data)

    def _copy_size(self) -> None:
        """Give the worker's terminal the size of the user's: models print tables and bars."""
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(self._terminal)
            if size != self._size:
                import fcntl
                import struct
                import termios

                packed = struct.pack("HHHH", size.lines, size.columns, 0, 0)
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, packed)
                self._size = size

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = b""
            self._write(_ERASE)

    def _draw(self) -> None:
        """Write the line, if it is not the one that is there."""
        seconds = time.monotonic() - self._started
        if not (self.shows and self._workers and self._line_start) or seconds < _DELAY:
            return
        if not self._in_foreground():
            return
        line = self._line(seconds)
        if line and line != self._drawn:
            self._drawn = line
            self._write(b"\r" + line + b"\x1b[K")

    def _line(self, seconds: float) -> bytes:
        from hookcli.worker.progress.line import line

        try:
            width = os.get_terminal_size(self._terminal).columns or 80
        except OSError:
            return b""
        if width < _NARROWEST:
            return b""
        text = line(self._workers, self.label, int(seconds), width - 1, self._encoding)
        return text.encode(self._encoding, "backslashreplace")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._terminal, view) :]
            except BlockingIOError:  # somebody made the terminal so
                select.select([], [self._terminal], [], self._tick)
            except OSError:  # it is gone
                return

    def _in_foreground(self) -> bool:
        """Whether the terminal is this job's: a line of another one would be in the way."""
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:  # not the terminal of this session
            return True
