"""Why an interpreter cannot run hookcli, as errors for the user."""

from __future__ import annotations

import shlex

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.spec.request import Interpreter
from hookcli.worker.interpreter.environments import OLDEST_PYTHON, is_python
from hookcli.worker.processes import signal_in_words

_ANOTHER = "pass the path of a Python interpreter, such as `--python .venv/bin/python`"


def cannot_start(python: Interpreter, error: OSError) -> RequestError:
    """Return the error for a file that the system does not execute."""
    return RequestError(
        f"cannot start {python.path}: {error.strerror}", place=python.place, hint=_ANOTHER
    )


def ended_at_start(python: Interpreter, status: int) -> HookcliError:
    """Return the error for a program that ended before it ran any code of hookcli.

    `status` is its exit status, negative for a signal.
    """
    how = f"with status {status}" if status >= 0 else f"by {signal_in_words(-status)}"
    if not is_python(python.path):
        return RequestError(
            f"{python.path} is not a Python interpreter: it ended {how}",
            place=python.place,
            hint=_ANOTHER,
        )
    return ModelError(
        f"{python.path} ended {how} while Python started",
        place=python.place,
        hint=f"run `{shlex.quote(python.path)} -c pass` to see why",
    )


def too_old(version: str) -> bool:
    """Return whether a version of Python is older than hookcli supports."""
    return _numbers(version) < _numbers(OLDEST_PYTHON)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2]]


def python_too_old(python: Interpreter, version: str) -> RequestError:
    """Return the error for a Python that is too old."""
    return RequestError(
        f"hookcli requires Python {OLDEST_PYTHON} or newer, got Python {version}",
        place=python.place,
        hint="pass a newer interpreter, such as `--python .venv/bin/python`",
    )
