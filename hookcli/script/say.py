"""Lines on stderr while the user's script runs."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """Write a line to stderr, past the script's own object."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except Exception:  # noqa: BLE001  # the script's own object may raise anything
        pass
    try:
        os.write(2, (text.replace("\n", " ") + "\n").encode("utf-8", "backslashreplace"))
    except OSError:  # it is closed
        return
