"""The descriptors with which the script's process starts another one at its end."""

from __future__ import annotations

import os

from hookcli.system.null_device import open_null


class StandardStreams:
    """Keeps the numbers of standard streams that the script closed from being given to a pipe.

    They are closed again at the end: Python tells of a stream that it cannot flush.
    """

    def __init__(self) -> None:
        self._filled: list[int] = []

    def __enter__(self) -> None:
        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                self._filled.append(open_null())  # the lowest number that is free

    def __exit__(self, *raised: object) -> None:
        for number in self._filled:
            os.close(number)


class Pipe:
    """A pipe that is closed at the end of a block."""

    def __enter__(self) -> Pipe:
        self.reader, self.writer = os.pipe()
        self._is_open = True
        return self

    def close_writer(self) -> None:
        """Close the end that another process has too."""
        if self._is_open:
            self._is_open = False
            os.close(self.writer)

    def __exit__(self, *raised: object) -> None:
        self.close_writer()
        os.close(self.reader)
