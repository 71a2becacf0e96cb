"""Errors of code that runs while the user's file is imported."""

from __future__ import annotations

import linecache
import re
import traceback

from hookcli.errors import ModelError, trace_of
from hookcli.known_failures import hint_for, missing_package
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of, is_a, missing_module, text_of
from hookcli.sentences import MAIN_GUARD, cannot_import

_CODES = (int, str, type(None))  # arguments of sys.exit; the repr of others is the user's code
_USAGE = 2  # the exit status of argparse, click and other parsers of arguments
_REQUIRED = re.compile(r"the following arguments are required: (.+)")


def import_error(what: str, error: BaseException) -> ModelError:
    """Return the error for a file or module `what` whose import raised `error`."""
    failure = failure_of(error, "import")
    place = failure.place or what
    message = cannot_import(what, f"{failure.type}: {failure.message}")
    if type(error) is SystemExit and type(error.code) in _CODES:
        message, hint = _exited(what, error)
    elif is_a(error, SyntaxError):
        reason = text_of(getattr(error, "msg", "")) if type(error) in places.SYNTAX else ""
        file = place.rpartition(":")[0] or what  # the file itself, or one that it imports
        message = f"{file} is not valid Python: {reason or failure.message}"
        hint = "correct the syntax"
    elif (missing := missing_module(error)) is not None:
        hint = _missing_hint(missing)
    elif is_a(error, EOFError) and "input(" in _line(failure.place):
        hint = f"put the code that reads stdin below {MAIN_GUARD}: a model gets no input there"
    elif is_a(error, IndexError) and "argv" in _line(failure.place):
        hint = 'pass the arguments of the script with `--argv "…"`'
    else:
        hint = hint_for(f"{failure.type}: {failure.message}") or TRACEBACK_HINT
    return ModelError(message, place=place, hint=hint, details=failure.details)


def _missing_hint(module: str) -> str:
    """Return what to do about a module that was not found: it may be one of the user's own."""
    package = module.partition(".")[0]
    if (places.START / package).is_dir() or (places.START / f"{package}.py").is_file():
        return "set `PYTHONPATH=.`, so that modules of the working folder are found"
    return missing_package(module)


def _line(place: str | None) -> str:
    """Return the source line of a place, or ""."""
    file, _, number = (place or "").rpartition(":")
    return linecache.getline(str(places.START / file), int(number)) if file else ""


def _exited(what: str, error: SystemExit) -> tuple[str, str]:
    """Return the message and the hint for a script that ended itself."""
    message = f"{what} called sys.exit({error.code!r}) during import"
    complaint = _complaint(error)
    if complaint:
        return f"{message}: {complaint}", _argv_hint(complaint)
    if error.code == _USAGE:
        hint = f'pass its arguments with `--argv "…"`, or put its code below {MAIN_GUARD}'
        return message, hint
    return message, f"put the script's code below {MAIN_GUARD}"


def _complaint(error: SystemExit) -> str:
    """Return what argparse says is wrong with the arguments, or ""."""
    for frame, _ in traceback.walk_tb(trace_of(error)):
        names = frame.f_locals
        parses = frame.f_globals.get("__name__") == "argparse" and frame.f_code.co_name == "error"
        if parses and type(names.get("message")) is str:
            return " ".join(names["message"].split())
    return ""


def _argv_hint(complaint: str) -> str:
    """Return what may follow --argv: the arguments that argparse misses."""
    match = _REQUIRED.fullmatch(complaint)
    if match is None:
        return 'correct the arguments of the script in `--argv "…"`'
    names = [name.rpartition("/")[2] for name in match[1].split(", ")]
    words = (f"{name} …" if name.startswith("-") else name.upper() for name in names[:4])
    return f'pass the arguments of the script: `--argv "{" ".join(words)}"`'
