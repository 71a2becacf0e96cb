"""Import the user's Python: a file as `python file.py` does, a package as a package."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.failures import missing_module
from hookcli.models.python.import_errors import import_error
from hookcli.models.python.user_folders import add_user_folders
from hookcli.sentences import no_module


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
        raise import_error(places.show(str(path)), error) from None
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
        raise import_error(name, error) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # also SystemExit
        raise import_error(name, error) from None
