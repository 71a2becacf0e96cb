"""Errors of the user's code, as data. Their own `__str__` is not trusted."""

from __future__ import annotations

import re
import traceback

from hookcli.errors import OWN, is_own, trace_of
from hookcli.models import places
from hookcli.report.recording import Failure

TRACEBACK_HINT = "run with `-v` for the traceback"

# Types of failures that have a meaning of their own, and that the user's classes may be named.
_TAKEN = {kind.__name__ for kind in OWN} | {"died", "timeout", "memory"}  # those of a crash
_LONGEST_MESSAGE = 10_000  # characters
_LONGEST_DETAILS = 200_000
_LONGEST_CHAIN = 100  # exceptions
_cause = vars(BaseException)["__cause__"].__get__
_context = vars(BaseException)["__context__"].__get__
_name = type.__dict__["__name__"].__get__  # a metaclass may have its own
_module = type.__dict__["__module__"].__get__


def type_name(error: BaseException) -> str:
    """Return the name of the exception's class; with its module if the name alone is taken."""
    kind = type(error)
    name: str = _name(kind)
    if name not in _TAKEN or is_own(error):
        return name
    module = _module(kind)
    return f"{module}.{name}" if type(module) is str else f"model.{name}"


def is_a(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Like isinstance, but without `__class__` of the exception, which may be wrong or raise."""
    return issubclass(type(error), kinds)


def missing_module(error: BaseException) -> str | None:
    """Return the name of the module that was not found; None for any other error."""
    if not is_a(error, ModuleNotFoundError):
        return None
    try:
        name = error.name  # type: ignore[attr-defined]  # is_a has checked it
    except BaseException:  # noqa: BLE001  # a property of the user's
        return None
    return name if type(name) is str and name else None


def text_of(value: object) -> str:
    """Return `str(value)` of a value that may be the user's; "" if that raises."""
    try:
        return str.__str__(str(value))  # not a subclass, whose methods may raise too
    except BaseException:  # noqa: BLE001  # the user's __str__ may raise anything
        return ""


def message_of(error: BaseException) -> str:
    """Return the exception's message; a phrase if it is empty or cannot be read.

    A message of more than 10,000 characters is cut in the middle.
    """
    text = _shortened(text_of(error), _LONGEST_MESSAGE)
    return places.without_mangling(text) or f"{type_name(error)} without a message"


def _shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is too long, with what is between counted."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} [{len(text) - 2 * half:,} characters] {text[-half:]}"


def _traceback(error: BaseException) -> list[str]:
    """Return the lines of the traceback; those of earlier exceptions too, unless they are many."""
    if not _has_long_chain(error):
        return traceback.format_exception(error)
    lines = traceback.format_tb(trace_of(error))
    return [*lines, f"{type_name(error)}: {message_of(error)}\n"]


def _has_long_chain(error: BaseException) -> bool:
    """Whether more exceptions preceded this one than a traceback should show."""
    for _ in range(_LONGEST_CHAIN):
        earlier = _cause(error) or _context(error)
        if earlier is None:
            return False
        error = earlier
    return True


_ORIGINAL = "Traceback of TorchScript, original code"
_SCRIPTED = re.compile(
    r"<--- HERE.*?^(?:RuntimeError: )?(?:builtins\.)?([A-Za-z_][\w.]*): (.*)\Z", re.M | re.S
)
_LINE = re.compile(r'^  File "(.+?)", line (\d+)', re.MULTILINE)


def _scripted(text: str) -> tuple[str, str, str | None] | None:
    """Return type, message and place of an error inside TorchScript; None if they are not known.

    TorchScript writes them into the message of its own exception, with the lines of the source
    that the file was made from.
    """
    trace = text.rpartition(_ORIGINAL)[2] if _ORIGINAL in text else ""
    last = trace.rpartition("<--- HERE")
    match = _SCRIPTED.search("".join(last[1:])) if trace else None
    if match is None:
        return None
    lines = [(file, line) for file, line in _LINE.findall(trace) if places.is_user(file)]
    own = [frame for frame in lines if not places.is_installed(frame[0])] or lines
    place = f"{places.show(own[-1][0])}:{own[-1][1]}" if own else None
    return match[1].rpartition(".")[2], match[2].strip(), place


def failure_of(error: BaseException, phase: str) -> Failure:
    """Return type, message, place and traceback of an exception."""
    message = message_of(error)
    kind, place = type_name(error), places.of_error(error)
    scripted = _scripted(message)
    if scripted is not None:
        kind, message, place = scripted
    try:
        details = "".join(_traceback(error))
    except BaseException:  # noqa: BLE001  # formatting calls the user's __str__ too
        details = ""
    return Failure(
        phase=phase,
        type=kind,
        message=message,
        place=place,
        details=places.without_mangling(_shortened(details, _LONGEST_DETAILS)),
    )
