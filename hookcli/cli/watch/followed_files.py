"""The files that `--watch` follows, by their time, size and number: they are looked at in turn."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TypeAlias

_Signature: TypeAlias = tuple[int, int, int] | None  # None: there is no such file
_SETTLE = 0.02  # seconds in which a file must not change: an editor may write it in parts
_LONGEST = 1.0  # seconds to wait for that
_MOST_TIMES = 3  # a file that changes during so many runs one after another is no longer followed


class FollowedFiles:
    """The files that the last run read, and the folders of those if it failed."""

    def __init__(self) -> None:
        self._known: dict[str, _Signature] = {}
        self._folders: set[str] = set()
        self._during: dict[str, int] = {}  # how many runs in turn changed each file

    def follow(self, paths: Iterable[str], *, since: int, folders: bool) -> list[str]:
        """Follow these files; return those that are no longer followed, as runs change them.

        A file that was modified after `since`, in nanoseconds of `time.time_ns`, is changed
        already: the run may have read it before. With `folders`, the folders of the files are
        followed too, where a missing module may appear.
        """
        known: dict[str, _Signature] = {}
        dropped = []
        for path in paths:
            now = _signature(path)
            known[path] = self._known.get(path, now)
            if path not in self._known and now is not None and now[0] > since:
                known[path] = None
            if known[path] == now:
                self._during.pop(path, None)
                continue
            self._during[path] = self._during.get(path, 0) + 1
            if self._during[path] == _MOST_TIMES:
                dropped.append(path)
            if self._during[path] >= _MOST_TIMES:
                known[path] = now
                self._during[path] -= 1
        self._folders = {os.path.dirname(path) for path in known} if folders else set()  # noqa: PTH120
        known.update((folder, _signature(folder)) for folder in self._folders)
        self._known = known
        return dropped

    def changed(self) -> list[str]:
        """Return the files that have changed since the last call, after they have settled.

        A folder is among them only if no file is.
        """
        changed = self._look()
        if not changed:
            return []
        until = time.monotonic() + _LONGEST
        while time.monotonic() < until:
            time.sleep(_SETTLE)
            more = self._look()
            if not more and all(self._known[path] is not None for path in changed):
                break
            changed = [*dict.fromkeys([*changed, *more])]
        return [path for path in changed if path not in self._folders] or changed

    def _look(self) -> list[str]:
        now = {path: _signature(path) for path in self._known}
        changed = [path for path, signature in now.items() if signature != self._known[path]]
        self._known = now
        return changed


def _signature(path: str) -> _Signature:
    try:
        status = os.stat(path)  # noqa: PTH116  # a path of bytes that are not text too
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
