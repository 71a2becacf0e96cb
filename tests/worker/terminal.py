"""A terminal for tests: the command's stderr, what came to it, and what a person sees of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import struct
import termios
import tty

LINE = re.compile(rb"\r([^\r\n\x1b]*)\x1b\[K")  # what progress writes: a line, or its end


class Terminal:
    """A pseudo-terminal that changes no byte. `slave` is the end that a command writes to."""

    def __init__(self, columns: int = 80) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        self.resize(columns)
        self.data = b""

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self) -> bytes:
        """All bytes that have come."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.master, 1 << 16):
                self.data += chunk
        return self.data

    def close(self) -> None:
        os.close(self.master)
        os.close(self.slave)

    @property
    def lines(self) -> list[str]:
        """The lines of progress, one after another."""
        return [line.decode() for line in LINE.findall(self.read()) if line]

    @property
    def rest(self) -> bytes:
        """What is not progress."""
        return LINE.sub(b"", self.read())


def seen(data: bytes, columns: int = 1 << 20) -> list[str]:
    """What a person sees in the end of these bytes, line by line, without trailing blanks.

    What follows the last column is in the next line, as in terminals that wrap late.
    """
    lines, column = [""], 0
    for part in re.findall(rb"\x1b\[K|\x1b\[\d*m|[^\x1b]", data):
        if part == b"\x1b[K":
            lines[-1] = lines[-1][:column]
        elif part == b"\n":
            lines.append("")
            column = 0
        elif part == b"\r":
            column = 0
        elif len(part) == 1:
            if column == columns:
                lines.append("")
                column = 0
            lines[-1] = lines[-1][:column] + part.decode("latin-1") + lines[-1][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
