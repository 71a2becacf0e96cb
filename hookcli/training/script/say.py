"""Lines on stderr while the user's script runs. It imports only what Python has loaded."""

from __future__ import annotations

import os
import sys

from hookcli.outputs.line_starts import is_within_line


def say(text: str) -> None:
    """Write a line to stderr, past the script's own object."""
    _flush()
    try:
        start = "\n" if is_within_line(2) else ""
        os.write(2, (start + harmless(text) + "\n").encode())
    except Exception:  # noqa: BLE001  # it is closed, or the script replaced os.write
        return


def harmless(text: str) -> str:
    """Return the text on one line, without invisible characters and commands of CI systems.

    It does what `hookcli.outputs.escapes.escape` does, and more: that one imports `re`.
    """
    text = text.replace("\n", " ").replace("::", ":\\x3a").replace("##", "#\\x23")
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def _flush() -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except Exception:  # noqa: BLE001  # the script may replace the stream by any object
        return
