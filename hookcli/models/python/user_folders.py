"""The folders of the user's code on sys.path: for its own imports, and not for anybody else's.

Plain Python has the folder of a script first on its path, for all imports of the process. A file
`json.py` beside a model then runs as soon as any library imports json. Here the user's code finds
its siblings as in plain Python, and the standard library, installed packages and hookcli find the
modules that they mean. The finder looks at the frame that imports. What is not found elsewhere is
then searched in the user's folders, because a library may import by a name that the user gave it;
but never for an import of hookcli's own.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType

from hookcli.models import places

_OWN = str(Path(__file__).parents[2]) + os.sep
# These files of hookcli import what the user named.
_FOR_USER = (
    str(Path(__file__).parent) + os.sep,
    str(Path(__file__).parents[1] / "files" / "pickled.py"),
)
_STDLIB = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_IMPORTLIB = ("<frozen importlib", str(Path(os.__file__).parent / "importlib") + os.sep)

_folders: set[str] = set()  # with links resolved
_resolved: dict[str, str] = {}


def add_user_folders(first: Sequence[Path], last: Sequence[Path] = ()) -> None:
    """Put folders on sys.path, before and behind all others, for the imports of the user's code."""
    before = {_real(entry) for entry in sys.path} - _folders
    front = [str(folder) for folder in first]
    behind = [str(folder) for folder in last]
    named = [path for path in _on_python_path() if path not in {*sys.path, *front}]
    sys.path[:0] = [*front, *named]
    sys.path.extend(behind)
    # Not what was on the path before: packages may be installed there.
    _folders.update({_real(path) for path in (*front, *named, *behind)} - before)
    if _PathFinder not in sys.meta_path:
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path[at : at + 1] = [_PathFinder]


def _on_python_path() -> list[str]:
    """Return the working folder if PYTHONPATH names it: `interpreters/start.py` removed it."""
    if sys.flags.ignore_environment:
        return []
    parts = os.environ.get("PYTHONPATH")
    paths = [] if not parts else [places.START / part for part in parts.split(os.pathsep)]
    return [*dict.fromkeys(str(path) for path in paths if path.resolve() == places.START)]


def _real(entry: str) -> str:
    if not os.path.isabs(entry):  # noqa: PTH117  # such as "": the working folder may change
        return os.path.realpath(entry)
    found = _resolved.get(entry)
    if found is None:
        found = _resolved[entry] = os.path.realpath(entry)
    return found


class _PathFinder(PathFinder):
    """Searches sys.path without the user's folders first, if other code than the user's imports."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module, or None."""
        importer = None if path is not None else _outside_importlib(sys._getframe(1))
        if importer is None or _is_user(importer):
            return super().find_spec(name, path, target)
        behalf = _first_known(importer)
        if behalf is not None and behalf.f_code.co_filename.startswith(_FOR_USER):
            return super().find_spec(name, path, target)
        others = [entry for entry in sys.path if _real(entry) not in _folders]
        spec = super().find_spec(name, others, target)
        if _is_file(spec) or (behalf is not None and not _is_user(behalf)):
            return spec
        finders = sys.meta_path[sys.meta_path.index(cls) + 1 :]  # such as of editable packages
        if any(finder.find_spec(name, None, target) is not None for finder in finders):
            return None
        return super().find_spec(name, None, target)


def _is_file(spec: ModuleSpec | None) -> bool:
    """Whether a spec is not that of any folder, which Python takes as a package of last resort."""
    return spec is not None and spec.origin is not None


def _outside_importlib(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORTLIB):
        frame = frame.f_back
    return frame


def _first_known(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user's code or of hookcli's."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN) or _is_user(frame):
            return frame
        frame = frame.f_back
    return None


def _is_user(frame: FrameType) -> bool:
    """Whether code is neither hookcli's, nor Python's, nor of an installed package."""
    file = frame.f_code.co_filename
    if file.startswith((_OWN, "<")):
        return False
    if not any(part in file for part in _PACKAGES):
        return not file.startswith(_STDLIB)
    # The user's folder may be below such a folder itself, and may contain an environment.
    return any(
        file.startswith(folder + os.sep)
        and not any(part in file[len(folder) :] for part in _PACKAGES)
        for folder in _folders
    )
