"""Makes the process as it is when plain Python starts a script, and returns what runs the script.

Until the script runs, nothing is imported that Python has not loaded anyway, except the files
of this folder.
"""

from __future__ import annotations

import marshal
import os
import sys

from hookcli.training.script.session import ScriptSession
from hookcli.training.script.torch_import import TorchFinder

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from typing import Any

# What `__main__` has when plain Python starts a script.
_NATIVE = (
    "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__",
    "__builtins__", "__file__", "__cached__",
)  # fmt: skip


def prepare() -> tuple[Any, ...]:
    """Return the function that runs the script, and its arguments.

    sys.argv is a list of the modules that Python had loaded, the cached importers, the path of the
    bootstrap, and the descriptor or the path of the file with the task.
    """
    modules, importers, own, file = sys.argv[0:4]
    boot = _read(file)
    session = ScriptSession(boot)
    names = sys.modules["__main__"].__dict__
    for name in [name for name in names if name not in _NATIVE]:
        del names[name]
    names["__doc__"] = None
    sys.orig_argv[:] = [boot["python"], *boot["flags"], *boot["command"]]
    _forget(set(modules), set(importers) - {own})
    session.begin()
    session.folders.first = _first_entry(boot)
    if "torch" in sys.modules:  # imported by the environment when Python started
        session.start()
    else:
        sys.meta_path.insert(0, TorchFinder(session.start))
    if boot["is_module"]:
        return _of_module(boot["name"], boot["arguments"], names)
    sys.argv[:] = [boot["name"], *boot["arguments"]]
    path = _absolute(boot["name"])
    if _importer(path) is not None:
        sys.path.insert(0, path)
        return _of_package("__main__", names, alter=False)
    if not _is_safe():
        sys.path.insert(0, _folder(boot["name"]))
    plain = [boot["python"], *boot["flags"], *boot["command"]]
    return _of_file(path, names, plain, boot.get("source"))


def _first_entry(boot: dict[str, Any]) -> str | None:
    """Return the entry that the script adds to sys.path."""
    if boot["is_module"]:
        return None if _is_safe() else os.getcwd()  # noqa: PTH109
    if os.path.isfile(boot["name"]):  # noqa: PTH113
        return None if _is_safe() else _folder(boot["name"])
    return _absolute(boot["name"])


def _read(file: str) -> dict[str, Any]:
    """Return the task. The file has no name, or is removed."""
    with open(int(file) if file.isdigit() else file, "rb") as stream:  # noqa: PTH123
        boot: dict[str, Any] = marshal.loads(stream.read())
    if not file.isdigit():
        os.remove(file)  # noqa: PTH107
    return boot


def _forget(modules: set[str], importers: set[str]) -> None:
    """Forget what importing hookcli has left, so that the script imports it as the first."""
    for name in [name for name in sys.modules if name.partition(".")[0] != "hookcli"]:
        if name not in modules:
            del sys.modules[name]
    for path in [path for path in sys.path_importer_cache if path not in importers]:
        del sys.path_importer_cache[path]


def _is_safe() -> bool:
    """Return whether Python does not add the folder of the script to sys.path."""
    return bool(getattr(sys.flags, "safe_path", False) or sys.flags.isolated)


def _absolute(name: str) -> str:
    """Return the path as Python has it in `__file__`: it is not normalized."""
    if os.path.isabs(name):  # noqa: PTH117
        return name
    if os.name == "nt":
        return os.path.abspath(name)  # noqa: PTH100
    return os.path.join(os.getcwd(), name)  # noqa: PTH109, PTH118


def _folder(name: str) -> str:
    """Return the folder of a script, with links resolved, for sys.path."""
    try:
        name = os.path.realpath(name, strict=True)
    except OSError:  # such as a pipe in /dev/fd
        name = os.path.abspath(name)  # noqa: PTH100
    return os.path.dirname(name)  # noqa: PTH120


def _importer(path: str) -> object:
    """Return the importer of a folder or a zip file, as Python looks for it."""
    for hook in sys.path_hooks:
        try:
            importer = hook(path)
        except ImportError:
            continue
        sys.path_importer_cache[path] = importer
        return importer
    sys.path_importer_cache[path] = None
    return None


def _of_module(name: str, arguments: list[str], names: dict[str, Any]) -> tuple[Any, ...]:
    sys.argv[:] = ["-m", *arguments]
    if not _is_safe():
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    return _of_package(name, names, alter=True)


def _of_package(name: str, names: dict[str, Any], *, alter: bool) -> tuple[Any, ...]:
    for unset in ("__file__", "__cached__"):
        names.pop(unset, None)
    names["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    import runpy

    return runpy._run_module_as_main, name, alter  # type: ignore[attr-defined]  # as python -m  # as python -m


def _of_file(
    path: str, names: dict[str, Any], plain: list[str], source: bytes | None
) -> tuple[Any, ...]:
    """Return what runs a file; `source` is what was read, if it can be read only once."""
    machinery: Any = sys.modules["_frozen_importlib_external"]
    is_read = source is not None
    try:
        if source is None:
            with open(path, "rb") as stream:  # noqa: PTH123
                source = stream.read()
        if path.endswith(".pyc") or source[:2] == machinery.MAGIC_NUMBER[:2]:
            loader, code = machinery.SourcelessFileLoader, marshal.loads(source[16:])
        else:
            code = compile(source, path, "exec", dont_inherit=True)
            loader = machinery.SourceFileLoader
    except Exception as error:  # noqa: BLE001
        if is_read:
            sys.__excepthook__(type(error), error.with_traceback(None), None)
            sys.exit(1)
        # Python's own message for a file that it cannot read or compile.
        from hookcli.interpreters.start import become_python

        sys.exit(become_python(plain))
    names["__file__"] = path
    names["__loader__"] = loader("__main__", path)
    return exec, code, names
