"""Import the user's Python: a file as `python file.py` does, a package as a package."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hookcli.errors import ModelError, RequestError, trace_of
from hookcli.known_failures import hint_for, missing_package
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of, is_a, missing_module, text_of
from hookcli.models.python.user_folders import add_user_folders
from hookcli.sentences import MAIN_GUARD, cannot_import, no_module


@contextmanager
def own_path() -> Iterator[None]:
    """Let the user's code change `sys.path`, and restore it on exit."""
    kept = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = kept


def _relative_level(tree: ast.Module) -> int:
    return max((n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)), default=0)


def _package_of(path: Path) -> list[str]:
    """Return the packages (folders with `__init__.py`) that contain the file, outermost first."""
    names: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return names


def _free_name(stem: str) -> str:
    """Return the stem, so that siblings can import this module; a private name if it is taken."""
    name = stem if stem.isidentifier() else "model"
    if name not in sys.modules and name not in sys.stdlib_module_names:
        return name
    return f"hookcli_user_{name}"


def _imported(path: Path) -> ModuleType | None:
    """Return the module if the file was imported before: a class must not exist twice."""
    for name in (path.stem, f"hookcli_user_{path.stem}"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "__file__", None) == str(path):
            return module
    return None


def _execute(name: str, path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(
        importlib.machinery.ModuleSpec(name, loader, origin=str(path))
    )
    module.__file__ = str(path)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def _as_namespace(path: Path, level: int) -> ModuleType:
    """Import a file whose relative imports leave its packages: make namespace packages."""
    folders = [path.parent]
    while len(folders) < level:
        folders.insert(0, folders[0].parent)
    prefix = ""
    for folder in folders:
        part = _free_name(folder.name) if not prefix else (folder.name or "root")
        prefix = f"{prefix}.{part}" if prefix else part
        package = ModuleType(prefix)
        package.__path__ = [str(folder)]
        sys.modules[prefix] = package
    return _execute(f"{prefix}.{path.stem}", path)


def import_file(path: Path) -> ModuleType:
    """Run a Python file and return its module; extend `sys.path` for its imports.

    A file with relative imports is imported as part of its package. For any other file, its folder
    is first on the path, and the folder above its package is last.

    Raises
    ------
    ModelError : the file's own code failed; the place is the user's line.

    """
    path = path.resolve()
    known = _imported(path)
    if known is not None:
        return known
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
        package = _package_of(path)
        top = path.parents[len(package)]
        level = _relative_level(tree)
        if level == 0:
            add_user_folders([path.parent], [top] if package else [])
            return _execute(_free_name(path.stem), path)
        if level > len(package):
            add_user_folders([path.parent])
            return _as_namespace(path, level)
        add_user_folders([top], [path.parent])
        dotted = ".".join(package if path.stem == "__init__" else [*package, path.stem])
        module = importlib.import_module(dotted)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # also SystemExit: the model's code failed
        raise _import_error(places.show(str(path)), error) from None
    if Path(module.__file__ or "").resolve() != path:
        raise ModelError(
            f"{places.show(str(path))} is part of the package '{package[0]}', "
            f"but an installed package of that name hides it",
            place=places.show(str(path)),
            hint=f"run hookcli from {places.show(str(top))}, or rename the folder",
        )
    return module


def import_module(name: str, source: str) -> ModuleType:
    """Import `package.module`, with the working directory first on the path.

    Raises
    ------
    RequestError : the module does not exist.
    ModelError : its code failed.

    """
    add_user_folders([places.START])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = missing_module(error)
        if missing and (name == missing or name.startswith(missing + ".")):
            raise RequestError(
                no_module(missing),
                place=source,
                hint="install it, or write MODEL as `path.py`, `path.py:Net` or "
                "`package.module:Net`",
            ) from None
        raise _import_error(name, error) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # also SystemExit
        raise _import_error(name, error) from None


# Errors of code that runs while the user's file is imported.

_CODES = (int, str, type(None))  # arguments of sys.exit; the repr of others is the user's code
_USAGE = 2  # the exit status of argparse, click and other parsers of arguments
_REQUIRED = re.compile(r"the following arguments are required: (.+)")


def _import_error(what: str, error: BaseException) -> ModelError:
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
