"""Lines on stderr while the user's script runs. It imports only what Python has loaded."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """Write a line to stderr, past the script's own object."""
    _flush()
    try:
        os.write(2, (text.replace("\n", " ") + "\n").encode("utf-8", "backslashreplace"))
    except Exception:  # noqa: BLE001  # it is closed, or the script replaced os.write
        return


def _flush() -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except Exception:  # noqa: BLE001  # the script may replace the stream by any object
        return
