"""Imports that the script did not cause: the script's folder does not answer them.

Plain Python searches the folder of a script first, for all imports of the process. hookcli imports
modules in that process which the script may never import, and so does torch on behalf of hookcli.
A file `shlex.py` beside the script would then run, though plain Python does not run it.

It imports only what Python has loaded.
"""

from __future__ import annotations

import os
import sys

from hookcli.handler_errors import is_of_handler

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType, TracebackType
    from typing import Any
else:
    Any = object

_external: Any = sys.modules["_frozen_importlib_external"]
_thread: Any = sys.modules["_thread"]
_PathFinder: Any = _external.PathFinder
_IMPORTLIB = ("<frozen importlib", os.path.join(os.path.dirname(os.__file__), "importlib"))  # noqa: PTH118, PTH120
_PACKAGES = ("site-packages", "dist-packages")


class UserFolders:
    """The folders on sys.path that are there because of the script.

    `before` is sys.path without the folder of the script, and `first` is that folder; None if
    Python does not add it.
    """

    def __init__(self, before: Sequence[str]) -> None:
        self._before = set(before)
        self._realpath = os.path.realpath  # the script may replace it
        self.first: str | None = None

    def now(self) -> set[str]:
        """Return the entries of sys.path that are not searched for imports of hookcli's own.

        An entry with installed packages is searched: the script may have added one.
        """
        first = None if self.first is None else self._realpath(self.first)
        torch = getattr(sys.modules.get("torch"), "__file__", None) or ""
        installed = self._realpath(os.path.dirname(os.path.dirname(torch)))  # noqa: PTH120
        return {
            entry
            for entry in sys.path
            if isinstance(entry, str)
            and not any(part in entry for part in _PACKAGES)
            and (entry not in self._before or self._realpath(entry) == first)
            and (not torch or self._realpath(entry) != installed)
        }


def own_imports() -> OwnImports:
    """Return the context manager of this process, which does nothing where no script runs."""
    return _of_process


class OwnImports:
    """A context manager in which imports of this thread do not search the script's folders.

    Imports by files in these folders do, as in plain Python. At the end, modules that the script
    would import from its folders are forgotten, so that it does.
    """

    def __init__(self) -> None:
        self.folders: UserFolders | None = None
        self._hidden: set[str] = set()
        self._thread: int | None = None
        self._depth = 0
        self._shadowed: set[str] = set()
        self._known: set[str] = set()

    def __enter__(self) -> None:
        if self.folders is None:
            return
        if self._thread is not None:
            self._depth += self._thread == _thread.get_ident()
            return
        if _PathFinder not in sys.meta_path:  # the script replaced it
            return
        try:
            self._hidden = self.folders.now()
        except Exception as error:  # the script may have put any object there
            if is_of_handler(error):
                raise
            return
        self._thread, self._depth, self._known = _thread.get_ident(), 1, set(sys.modules)
        finder: Any = self
        sys.meta_path[sys.meta_path.index(_PathFinder)] = finder

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread != _thread.get_ident():
            return
        self._depth -= 1
        if self._depth:
            return
        self._thread = None
        if self in sys.meta_path:
            sys.meta_path[sys.meta_path.index(self)] = _PathFinder
        if self._shadowed:
            for name in [name for name in sys.modules if name not in self._known]:
                if name.partition(".")[0] in self._shadowed:
                    del sys.modules[name]
            self._shadowed.clear()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module, or None."""
        found: ModuleSpec | None
        if path is not None or self._thread != _thread.get_ident() or self._is_of_user():
            found = _PathFinder.find_spec(name, path, target)
            return found
        others = [entry for entry in sys.path if entry not in self._hidden]
        found = _PathFinder.find_spec(name, others, target)
        plain: ModuleSpec | None = _PathFinder.find_spec(name, None, target)
        if found is not None and plain is not None and plain.origin != found.origin:
            self._shadowed.add(name)
        return found

    def invalidate_caches(self) -> None:
        """Do what importlib.invalidate_caches expects of a finder."""
        _PathFinder.invalidate_caches()

    def _is_of_user(self) -> bool:
        """Return whether a file in the script's folders imports."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_IMPORTLIB):
            frame = frame.f_back
        if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] == "hookcli":
            return False
        file = frame.f_code.co_filename
        return any(
            file.startswith(folder + os.sep)
            and not any(part in file[len(folder) :] for part in _PACKAGES)
            for folder in self._hidden
        )


_of_process = OwnImports()
