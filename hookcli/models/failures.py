"""What the user's code raised, as data. Its own `__str__` is not trusted."""

from __future__ import annotations

import traceback

from hookcli.models import places
from hookcli.report.recording import Failure


def message_of(error: BaseException) -> str:
    """The exception's text; a phrase where the text cannot be had or is empty."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the user's __str__ may raise anything
        text = ""
    return text or f"{type(error).__name__} without a message"


def failure_of(error: BaseException, phase: str) -> Failure:
    """Type, message, place and traceback of an exception."""
    try:
        details = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001  # formatting calls the user's __str__ too
        details = ""
    return Failure(
        phase=phase,
        type=type(error).__name__,
        message=message_of(error),
        place=places.of_error(error),
        details=details,
    )


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
