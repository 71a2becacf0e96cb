"""Chooses the Python that runs the model: the one that is named, or else the first with torch.

This is imported before the command line is read, so it imports little.
"""

from __future__ import annotations

import os
import sys

from hookcli.errors import RequestError
from hookcli.sentences import missing_file
from hookcli.worker.interpreter.environments import has_torch, own_has_torch, python_of

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
if TYPE_CHECKING:
    from hookcli.spec.request import Interpreter

VARIABLE = "HOOKCLI_PYTHON"
_FLAG = "--python"
_PATH_HINT = "pass the path of an interpreter, or the folder of a virtual environment"


def early_choice(arguments: list[str]) -> str:
    """Return the interpreter that a command line is likely to use; its flags are not read yet.

    Raises
    ------
    RequestError : what the flag or the variable names is not an interpreter, or none has torch.
    """
    named = _typed(arguments) or os.environ.get(VARIABLE)
    if named:
        return find_python(named, place=named)
    return sys.executable if own_has_torch() else search().path


def _typed(arguments: list[str]) -> str | None:
    """Return the value of the last --python of a command line."""
    named = None
    for i, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == _FLAG and i + 1 < len(arguments):
            named = arguments[i + 1]
        elif argument.startswith(f"{_FLAG}="):
            named = argument.removeprefix(f"{_FLAG}=")
    return named


def named_by_environment() -> Interpreter | None:
    """Return what HOOKCLI_PYTHON names, if it is set."""
    from hookcli.spec.request import Interpreter

    value = os.environ.get(VARIABLE)
    return Interpreter(value, VARIABLE, f"{VARIABLE}={value}") if value else None


def choose(named: Interpreter | None) -> Interpreter:
    """Return the interpreter with its absolute path.

    Without a name it is the one of this process, or the first of `search` if that has no torch.

    Raises
    ------
    RequestError : what is named is not an interpreter, or no interpreter has torch.
    """
    from hookcli.spec.request import Interpreter

    if named is None:
        if own_has_torch():
            return Interpreter(sys.executable, "own", sys.executable)
        return search()
    path = find_python(named.path, place=named.place)
    if _is_own(path):
        return Interpreter(sys.executable, "own", named.place)
    return Interpreter(path, named.source, named.place)


def _is_own(path: str) -> bool:
    """Whether a path is that of this process's interpreter, maybe under another name."""
    same_folder = os.path.dirname(path) == os.path.dirname(sys.executable)  # noqa: PTH120
    return path == sys.executable or (
        same_folder and os.path.realpath(path) == os.path.realpath(sys.executable)
    )


def find_python(name: str, *, place: str) -> str:
    """Return the absolute path of an interpreter, of which links are not resolved.

    `name` is its path, the folder of an environment, or a command, such as python3.12.

    Raises
    ------
    RequestError : it does not exist, cannot be executed, or is a folder without an interpreter.
    """
    if "\0" in name:
        raise RequestError("a path contains a NUL character", place=repr(place), hint=_PATH_HINT)
    path = os.path.abspath(os.path.expanduser(name))  # noqa: PTH100, PTH111
    if os.path.isdir(path):  # noqa: PTH112
        python = python_of(path)
        if python is not None:
            return python
        path = os.path.join(path, "bin", "python")  # noqa: PTH118
        if not os.path.islink(path):  # noqa: PTH114
            raise RequestError(
                f"{name} is a directory without a Python interpreter",
                place=place,
                hint="pass the folder of a virtual environment, or the path of an interpreter",
            )
    elif not os.path.dirname(name):  # noqa: PTH120
        from shutil import which  # only for a command

        command = which(name)
        if command is not None:
            return os.path.abspath(command)  # noqa: PTH100
    if os.path.lexists(path) and not os.path.exists(path):  # noqa: PTH110
        raise RequestError(
            f"{path} is a link to a file that does not exist",
            place=place,
            hint="create the virtual environment again, or pass another interpreter",
        )
    if not os.path.exists(path):  # noqa: PTH110
        raise RequestError(missing_file(name), place=place, hint=_PATH_HINT)
    if not os.access(path, os.X_OK):
        raise RequestError(f"{name} is not executable", place=place, hint=_PATH_HINT)
    return path


_searched: dict[tuple[str | None, ...], Interpreter] = {}


def search() -> Interpreter:
    """Return the first interpreter with torch in the active environments and in ./.venv.

    Raises
    ------
    RequestError : there is none; the place lists where it was searched.
    """
    environments = _environments()
    key = tuple(folder for _, folder in environments)
    if key not in _searched:
        _searched[key] = _search(environments)
    return _searched[key]


def _environments() -> list[tuple[str, str | None]]:
    """Return the names of the environments to search, and their folders if they are set."""
    variables = ("VIRTUAL_ENV", "CONDA_PREFIX")
    found: list[tuple[str, str | None]] = [(name, os.environ.get(name)) for name in variables]
    return [*found, (".venv", os.path.abspath(".venv"))]  # noqa: PTH100


def _search(environments: list[tuple[str, str | None]]) -> Interpreter:
    from hookcli.interpreters.names import install_command
    from hookcli.spec.request import Interpreter

    looked = [f"hookcli's own {sys.executable}"]
    best = sys.executable
    for name, folder in environments:
        shown = name if name.startswith(".") else f"${name}"
        python = None if folder is None else python_of(folder)
        if folder is None or python is None:
            looked.append(f"{shown} ({'not set' if folder is None else 'no interpreter'})")
            continue
        if not _is_own(python) and has_torch(folder, python):
            return Interpreter(python, name, f"{shown} ({folder})")
        best = python if best == sys.executable else best
        looked.append(f"{shown} ({folder})")
    raise RequestError(
        "no Python interpreter with torch was found",
        place=", ".join(looked),
        hint=f"pass `--python PATH`, or run `{install_command(best, 'torch')}`",
    )
