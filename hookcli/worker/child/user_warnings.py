"""Warnings that Python places at a line of hookcli, which called the model: they name the model."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_OWN = _FOLDER + os.sep


def show_places_of_user(place: Callable[[], str]) -> None:
    """Show warnings with `place()`, the user's line or file, where Python would show hookcli's.

    All others are shown as before. A model may replace `warnings.showwarning` too.
    """
    plain: Callable[..., Any] = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        if not filename.startswith(_OWN):
            plain(message, category, filename, lineno, file, line)
            return
        stream = sys.stderr if file is None else file
        if stream is not None:
            stream.write(f"{place()}: {category.__name__}: {message}\n")

    warnings.showwarning = show
