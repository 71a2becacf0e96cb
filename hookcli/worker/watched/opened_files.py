"""Records the files that a run opens, for `--watch`: the user's modules, weights, inputs, data.

Each process of a run appends lines to one file: `r PATH` for a file that was opened to be read and
`w PATH` for one that was opened to be written. Files of Python, of installed packages and of
hookcli are left out. A worker adds `m NAME` for each module of hookcli that it has imported, which
the fork server then imports for later workers.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 5000  # files that one process records
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_SYSTEM = ("/dev/", "/proc/", "/sys/")
_HOOKCLI = os.path.abspath(__file__ + "/../../..") + os.sep  # noqa: PTH100
_STANDARD = tuple(
    path + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)
_WRITES = os.O_WRONLY | os.O_RDWR
# Imported by name, as a model may replace the functions of `os`.
_abspath, _fsdecode, _open, _write, _close = (
    os.path.abspath,
    os.fsdecode,
    os.open,
    os.write,
    os.close,
)

_recorded_in: str | None = None


def record_runs_in(path: str) -> None:
    """Let later runs of this process and of its workers record in this file."""
    global _recorded_in  # noqa: PLW0603  # one for the process, as are its workers
    _recorded_in = path


def recorded_in() -> str | None:
    """Return the file in which runs record, None if they do not."""
    return _recorded_in


def record(path: str) -> None:
    """Record the files that this process opens from now on, until it ends.

    A file is opened for each line, because a model may close descriptors.
    """
    seen: set[str] = set()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open":
            return
        try:
            line = _line(*arguments)
            if line is None or line in seen or len(seen) >= _MOST:
                return
            seen.add(line)
            note(path, line)
        except Exception:  # noqa: BLE001  # an error would be raised in the user's open()
            return

    sys.addaudithook(hook)


def note(path: str, line: str) -> None:
    """Append a line."""
    fd = _open(path, os.O_WRONLY | os.O_APPEND)
    try:
        _write(fd, f"{line}\n".encode("utf-8", "surrogateescape"))
    finally:
        _close(fd)


def note_named(names: Iterable[str]) -> None:
    """Record files that the user named: they may be missing, or be opened by code in C."""
    if _recorded_in is not None:
        for name in names:
            if "\0" not in name and "\n" not in name:
                note(_recorded_in, f"r {_abspath(name)}")


def _line(name: object, mode: object, flags: object) -> str | None:
    """Return the line for an opened file; None if it is not one of the user's."""
    if not isinstance(name, str | bytes | os.PathLike):
        return None  # a descriptor
    path = _abspath(_fsdecode(name))
    if _is_installed(path) or "\n" in path:
        return None
    writes = not set("wax+").isdisjoint(mode) if isinstance(mode, str) else False
    if isinstance(flags, int) and flags & _WRITES:
        writes = True
    return f"w {path}" if writes else f"r {_source(path)}"


def _is_installed(path: str) -> bool:
    if path.startswith((*_SYSTEM, _HOOKCLI)):
        return True
    return path.startswith(_STANDARD) or any(folder in path for folder in _PACKAGES)


def _source(path: str) -> str:
    """Return the source file of a file of bytecode, which Python reads in its place."""
    if not path.endswith(".pyc"):
        return path
    folder, name = os.path.split(path)
    if os.path.basename(folder) != "__pycache__":  # noqa: PTH119
        return path
    return os.path.join(os.path.dirname(folder), f"{name.split('.')[0]}.py")  # noqa: PTH118, PTH120


# Modules that hookcli makes others import during a run, such as numpy.random when it seeds.
_IMPORTED_FOR_RUNS = {"numpy.random", "torch._subclasses.schema_check_mode"}


def note_modules(path: str) -> None:
    """Record which modules of hookcli this process has imported, and others that it needs."""
    own = (name for name in [*sys.modules] if name.startswith("hookcli."))
    names = [*own, *_IMPORTED_FOR_RUNS.intersection(sys.modules)]
    note(path, "\n".join(f"m {name}" for name in names))


@dataclass(frozen=True, slots=True)
class RecordedFiles:
    """The files that were read and not written, with absolute paths, and hookcli's modules."""

    files: frozenset[str]
    modules: tuple[str, ...]


def read_record(path: str) -> RecordedFiles:
    """Return what the processes of a run have recorded."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        lines = dict.fromkeys(file.read().splitlines())
    named = {key: [line[2:] for line in lines if line[:2] == f"{key} "] for key in "rwm"}
    return RecordedFiles(frozenset(named["r"]) - {*named["w"]}, tuple(named["m"]))
