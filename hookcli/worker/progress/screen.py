"""The terminal behind stderr, which the worker's output and one line of progress share.

The worker writes to a pseudo-terminal in place of the user's. A thread copies its bytes to the
user's terminal unchanged, and draws the line of progress only while the cursor is at the start of
a line. So neither can damage the other. The worker does nothing for progress: it writes to a
terminal as before, and its last event is read from the memory that it writes for crashes anyway.

There is no `Screen` without a terminal, with -q, with TERM=dumb, in CI and under torchrun: the
worker writes directly to stderr then.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time

TYPE_CHECKING = False  # type checkers treat it as True; importing typing is slow
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookcli.worker.last_event import LastEvent
    from hookcli.worker.progress.line import Running
    from hookcli.worker.protocol import Job

STDERR = 2
_DELAY = 0.3  # seconds before the line is shown, so that a short run shows nothing
_TICK = 0.1  # seconds between updates of the line
_CHUNK = 1 << 16  # bytes copied at a time
_MOST_LEFT = 1 << 20  # bytes copied before something else is printed; a process may print forever
_NARROWEST = 10  # columns: a narrower terminal shows no line
_ERASE = b"\r\x1b[K"
_CI = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "BUILDKITE", "JENKINS_URL")


class _State:
    """The settings of `allow`, and the screen after a worker has started."""

    def __init__(self) -> None:
        self.started: float | None = None  # None: progress is not allowed
        self.encoding = "ascii"
        self.screen: Screen | None = None


_state = _State()  # one for the process, which has one stderr


def allow(encoding: str | None, *, quiet: bool) -> None:
    """Let later runs show progress, if stderr is a suitable terminal."""
    if not quiet and _is_suitable():
        _state.started, _state.encoding = time.monotonic(), encoding or "ascii"


def close() -> None:
    """Undo `allow`, after everything that was written has reached the terminal."""
    screen, _state.screen, _state.started = _state.screen, None, None
    if screen is not None:
        screen.close()


def worker_stream() -> int:
    """Return the descriptor for a worker's output: the pseudo-terminal, or stderr without one."""
    if _state.screen is None and _state.started is not None:
        try:
            _state.screen = Screen(_state.started, _state.encoding)
        except OSError:  # no pseudo-terminal is available
            _state.started = None
    return STDERR if _state.screen is None else _state.screen.slave


def follow(job: Job, last: Callable[[], LastEvent]) -> Callable[[], None]:
    """Show what a worker runs, until the returned function is called."""
    return (lambda: None) if _state.screen is None else _state.screen.follow(job, last)


@contextlib.contextmanager
def shown(*, quiet: bool = False) -> Iterator[None]:
    """Show progress within the `with` block, and erase its line at the end."""
    screen = _state.screen
    if screen is None or quiet:
        yield
        return
    from hookcli.console import (
        settle_with,
    )  # imported after the worker has started, because it is slow

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
    """Begin the line with this label, which tells several runs apart."""
    screen = _state.screen
    if screen is None:
        yield
        return
    before, screen.label = screen.label, text
    try:
        yield
    finally:
        screen.label = before


def _is_suitable() -> bool:
    """Return whether stderr is a terminal that can erase a line, for this command alone."""
    if not os.isatty(STDERR) or os.environ.get("TERM") == "dumb" or os.environ.get("RANK"):
        return False  # RANK: torchrun's ranks share one terminal
    return all(os.environ.get(name, "").lower() in {"", "0", "false"} for name in _CI)


class Screen:
    """The user's terminal, a pseudo-terminal for the worker, and the thread between them.

    `started` is the time at which the command started, in seconds of `time.monotonic`. The thread
    sleeps at most `tick` seconds.

    Raises
    ------
    OSError : no pseudo-terminal can be opened.

    """

    def __init__(
        self, started: float, encoding: str, *, terminal: int = STDERR, tick: float = _TICK
    ) -> None:
        from tty import setraw

        self._master, self.slave = os.openpty()
        setraw(self.slave)  # bytes arrive unchanged
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
        """Show what this worker runs, until the returned function is called."""
        from hookcli.spec.plan import plan
        from hookcli.worker.progress.line import Running

        worker = Running(job.attempt, plan(job.spec).steps, last)
        with self._lock:
            self._workers.append(worker)

        def forget() -> None:
            with self._lock:
                self._workers.remove(worker)

        return forget

    def settle(self) -> None:
        """Copy what the worker has written so far, and leave the cursor at the start of a line."""
        with self._lock:
            if self._open:
                self._copy_output(_MOST_LEFT)
            self._erase()
            if not self._line_start:
                self._write(b"\n")
                self._line_start = True

    def close(self) -> None:
        """Settle, and close the pseudo-terminal."""
        self.settle()
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._master)
                os.close(self.slave)

    def _work(self) -> None:
        # Let a background job print even on a terminal that stops such jobs (stty tostop).
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        poller = self._poller()  # a separate one: two threads must not share a poller
        while True:
            poller.poll(self._tick * 1000)
            with self._lock:
                if not self._open:
                    return
                self._copy_output(_CHUNK)
                self._copy_size()
                try:
                    self._draw()
                except Exception:  # noqa: BLE001  # a bug in the line must not block the output
                    self.shows = False

    def _poller(self) -> select.poll:
        poller = select.poll()
        poller.register(self._master, select.POLLIN)
        return poller

    def _copy_output(self, most: int) -> None:
        """Copy the worker's output to the user's terminal, up to `most` bytes."""
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
        """Write the line, if it differs from the one on the terminal."""
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
            except BlockingIOError:  # the terminal was made non-blocking
                select.select([], [self._terminal], [], self._tick)
            except OSError:  # the terminal is closed
                return

    def _in_foreground(self) -> bool:
        """Return whether this is the terminal's foreground job, which may draw a line."""
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:  # the terminal of another session
            return True
