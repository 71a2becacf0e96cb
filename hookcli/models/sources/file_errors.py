"""Errors about files that several readers raise, and the hints that they share. Torch-free."""

from __future__ import annotations

from pathlib import Path

from hookcli.errors import ModelError, RequestError
from hookcli.plain_files import problem_of
from hookcli.sentences import cannot_read

COMPLETE = "check that the file is complete, then download or save it again"
LIBRARIES = "add the library that defines it to the configuration: `libraries: [libmine.so]`"
PYTHON_FILE = "pass a Python file that defines a model"
TRUST = "pass `--trust` if you trust the origin of the file"


def reason_of(error: BaseException) -> str:
    """Return an error's message in one line, or its type if the message is empty."""
    return " ".join(str(error).split()) or type(error).__name__


def file_not_found(
    path: str, place: str, hint: str = "check the path", *, at: Path | None = None
) -> RequestError:
    """Return the error for a path at which there is no regular file; it says what is there.

    `at` is the absolute path, if the working folder may have changed since `path` was typed.
    """
    message = problem_of(path if at is None else at, path)
    return RequestError(message, place=place, hint=hint)


def damaged_file(name: str, reason: str, place: str) -> ModelError:
    """Return the error for a damaged file, with what its reader reported."""
    return ModelError(cannot_read(name, reason), place=place, hint=COMPLETE)


def newer_format(version: str, newest: str, place: str, details: str = "") -> ModelError:
    """Return the error for a file that a newer torch wrote; `newest` is what this one reads."""
    return ModelError(
        f"a newer torch wrote this file: its format version is {version}, and this torch reads "
        f"up to {newest}",
        place=place,
        hint="use that torch, or save the file again with this one",
        details=details,
    )


def unknown_operator(name: str, place: str, details: str) -> ModelError:
    """Return the error for a saved model that calls an operator of a library not loaded here."""
    return ModelError(
        f"the model calls the operator {name}, which is not registered",
        place=place,
        hint=LIBRARIES,
        details=details,
    )
