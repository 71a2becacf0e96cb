"""What the user's code raised, as data. Its own `__str__` is not trusted."""

from __future__ import annotations

import re
import traceback

from hookcli.models import places
from hookcli.report.recording import Failure


def message_of(error: BaseException) -> str:
    """The exception's text; a phrase where the text cannot be had or is empty."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the user's __str__ may raise anything
        text = ""
    return places.bare(text) or f"{type(error).__name__} without a message"


_ORIGINAL = "Traceback of TorchScript, original code"
_SCRIPTED = re.compile(
    r"<--- HERE.*?^(?:RuntimeError: )?(?:builtins\.)?([A-Za-z_][\w.]*): (.*)\Z", re.M | re.S
)
_LINE = re.compile(r'^  File "(.+?)", line (\d+)', re.MULTILINE)


def _scripted(text: str) -> tuple[str, str, str | None] | None:
    """Type, message and place of what TorchScript raised; None where that is not known.

    It tells them in the text of an exception of its own, with the lines of the source that the
    file was made from.
    """
    trace = text.rpartition(_ORIGINAL)[2] if _ORIGINAL in text else ""
    last = trace.rpartition("<--- HERE")
    found = _SCRIPTED.search("".join(last[1:])) if trace else None
    if found is None:
        return None
    lines = [(file, line) for file, line in _LINE.findall(trace) if places.is_user(file)]
    own = [one for one in lines if not places.is_installed(one[0])] or lines
    place = f"{places.show(own[-1][0])}:{own[-1][1]}" if own else None
    return found[1].rpartition(".")[2], found[2].strip(), place


def failure_of(error: BaseException, phase: str) -> Failure:
    """Type, message, place and traceback of an exception."""
    message = message_of(error)
    kind, place = type(error).__name__, places.of_error(error)
    scripted = _scripted(message)
    if scripted is not None:
        kind, message, place = scripted
    try:
        details = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001  # formatting calls the user's __str__ too
        details = ""
    return Failure(
        phase=phase,
        type=kind,
        message=message,
        place=place,
        details=places.bare(details),
    )


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
