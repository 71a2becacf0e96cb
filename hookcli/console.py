"""The standard streams, with the terminal, colour and CI. No other module prints.

Names and messages come from the user's code. On a terminal or in a CI log they could move the
cursor, reverse the text or send commands to the runner; `escape` makes them harmless.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import stat
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TextIO, TypeAlias

from hookcli.errors import HookcliError, ProblemsError, RequestError
from hookcli.outputs.escapes import escape as escape  # what console prints uses it
from hookcli.outputs.line_starts import is_within_line
from hookcli.sentences import cannot_write

ColorOption: TypeAlias = Literal["auto", "always", "never"]

_WIDEST = 100_000  # columns, more than any table fills
_PIPE_WIDTH = 120  # columns, if the output is not a terminal and COLUMNS is not set


_settle: Callable[[], None] | None = None


def settle_with(settle: Callable[[], None] | None) -> None:
    """Call this before anything is printed, as a line of progress has to be erased first."""
    global _settle  # noqa: PLW0603  # one for the process, as are its streams
    _settle = settle


@dataclass(frozen=True, slots=True)
class Console:
    """How the command prints: colour, notes and tracebacks."""

    color: ColorOption = "auto"
    quiet: bool = False
    verbose: bool = False

    def width(self) -> int:
        """Return the width to fill: COLUMNS, else the terminal's, else 120 columns."""
        columns = os.environ.get("COLUMNS", "").lstrip("0")
        if columns.isascii() and columns.isdigit():
            return int(columns) if len(columns) < len(str(_WIDEST)) else _WIDEST
        if self._is_terminal(sys.stdout):
            return shutil.get_terminal_size((80, 24)).columns
        return _PIPE_WIDTH

    def colored(self, stream: object = None) -> bool:
        """Return whether a stream (default: stdout) gets colour.

        --color decides, then the environment as in Python itself (NO_COLOR, FORCE_COLOR, TERM),
        then whether the stream is a terminal.
        """
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        if os.environ.get("TERM") == "dumb":
            return False
        return self._is_terminal(sys.stdout if stream is None else stream)

    def _word(self, text: str, code: int) -> str:
        """Return the first word of a line for stderr, in colour if stderr gets colour."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colored(sys.stderr) else text

    def unicode(self) -> bool:
        """Return whether the encoding of stdout has the characters of trees."""
        try:
            "├─└│×…".encode(getattr(sys.stdout, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    @staticmethod
    def _is_terminal(stream: object) -> bool:
        try:
            return bool(stream.isatty())  # type: ignore[attr-defined]
        except (AttributeError, ValueError):
            return False

    def out(self, text: str | bytes) -> None:
        """Write the report to stdout.

        Raises
        ------
        BrokenPipeError : the reader has closed the pipe.
        RequestError : stdout cannot be written, such as a file on a full disk.

        """
        if sys.stdout is None:
            raise BrokenPipeError
        if _settle is not None:
            _settle()
        try:
            _write(sys.stdout, text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable_stdout(error) from None

    def err(self, text: str) -> None:
        """Write a line to stderr. Nothing happens if stderr is closed."""
        if sys.stderr is None:
            return
        if _settle is not None:
            _settle()
        with suppress(OSError):
            _write(sys.stderr, ("\n" if _is_within_line(sys.stderr) else "") + text + "\n")

    def begin_line(self) -> None:
        """Go to the first column of a terminal at stderr: to the next line, if it is not there.

        A terminal does not tell where its cursor is. As many spaces as a line has reach the next
        line unless they begin in the first column, as in the prompt of zsh.
        """
        stream = sys.stderr
        if stream is None or not self._is_terminal(stream) or os.environ.get("TERM") == "dumb":
            return
        with suppress(OSError, ValueError):
            _write(stream, " " * os.get_terminal_size(stream.fileno()).columns + "\r")

    def note(self, text: str) -> None:
        """Print a note, unless -q is given."""
        if not self.quiet:
            self.err(f"{self._word('note:', 33)} {escape(text)}")

    def error(self, error: HookcliError) -> None:
        """Print three lines for each error: what, where, what to do; with -v a traceback first."""
        if isinstance(error, ProblemsError):
            for problem in error.problems:
                self.error(problem)
            return
        if self.verbose and error.details:
            self.err("\n".join(escape(line) for line in error.details.rstrip().splitlines()))
        self.err(f"{self._word('error:', 31)} {escape(' '.join(error.message.split()))}")
        self.err(f"  --> {escape(error.place)}")
        self.err(f"{self._word('hint:', 36)} {escape(error.hint)}")

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """In GitHub Actions, keep the runner from executing commands that the model prints."""
        if os.environ.get("GITHUB_ACTIONS") != "true":
            yield
            return
        token = uuid.uuid4().hex
        self.err(f"::stop-commands::{token}")
        try:
            yield
        finally:
            self.err(f"\n::{token}::")  # on a new line, however the model's output ended


def _is_within_line(stream: TextIO) -> bool:
    """Return whether a model's or script's output, in a file, has not ended its last line."""
    try:
        stream.flush()
        return is_within_line(stream.fileno())
    except (AttributeError, ValueError, OSError):  # it is closed, or has no descriptor
        return False


def unwritable_stdout(error: OSError) -> RequestError:
    """Return the error for a stdout that cannot be written, such as a file on a full disk."""
    return RequestError(
        cannot_write("stdout", error.strerror or error),
        place="stdout",
        hint="check that the disk is not full, or write to another place with `-o FILE`",
    )


def _write(stream: TextIO, text: str | bytes) -> None:
    """Write all of a text, or of bytes; wait for a full pipe, even if writing does not block.

    Raises
    ------
    BrokenPipeError : the reader has closed the pipe, or the stream is closed.
    OSError : the stream cannot be written.

    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    data = text if isinstance(text, bytes) else text.encode(encoding, "backslashreplace")
    try:
        if not hasattr(stream, "buffer"):
            stream.write(data.decode(encoding))
            stream.flush()
            return
        stream.flush()
        left = memoryview(data)
        while left:
            try:
                left = left[stream.buffer.write(left) :]
            except BlockingIOError as error:
                left = left[error.characters_written :]
                select.select([], [stream], [])
        while True:
            try:
                stream.buffer.flush()
                return
            except BlockingIOError:
                select.select([], [stream], [])
    except ValueError:  # the stream is closed
        raise BrokenPipeError from None
    except OSError as error:
        if error.errno == errno.EIO and _is_character_device(stream):
            raise BrokenPipeError from None  # a terminal whose window was closed
        raise


def _is_character_device(stream: TextIO) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    return False


def stdout_is_terminal() -> bool:
    """Return whether a person sees stdout as it is written."""
    return Console._is_terminal(sys.stdout)


def stdout_is_missing() -> bool:
    """Return whether stdout was closed when Python started."""
    return sys.stdout is None


def stdout_is_closed() -> bool:
    """Return whether stdout is a pipe whose reader has gone."""
    try:
        fd = sys.stdout.fileno()
    except (AttributeError, ValueError, OSError):
        return False
    poll = getattr(select, "poll", None)
    if poll is None:
        return False
    watch = poll()
    watch.register(fd, select.POLLERR)
    return any(event & select.POLLERR for _, event in watch.poll(0))
