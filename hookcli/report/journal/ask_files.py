"""The file with which somebody asks a training that runs for steps in detail.

It is in a folder that only the user can read, beside the journal, and has a number of steps or a
range, and names of a preset or of kinds: no code, no path. The training looks for it at the end of
each step, and removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass

from hookcli.report.journal.journal_entries import asks_of

MOST_STEPS = 1_000  # of one question
_NAME = "ask.json"
_MOST_BYTES = 1 << 12
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_STEPS = re.compile(r"(?P<first>\d{1,12})(?:-(?P<last>\d{1,12}))?")
_ID = re.compile(r"[0-9a-f]{8,64}")
_NAMES = re.compile(r"[a-z_, ]{1,2000}")


@dataclass(frozen=True, slots=True)
class AskedRange:
    """Steps that somebody asks for: the `next` ones, or those from `first` to `last`.

    With a `preset`, or `kinds` as `--kinds` names them, they are observed by its hooks too.
    """

    identity: str
    next: int | None = None
    first: int = 0
    last: int = 0
    preset: str | None = None
    kinds: str | None = None

    @property
    def has_hooks(self) -> bool:
        """Whether it asks for other hooks than those of the run."""
        return self.preset is not None or self.kinds is not None


def parse_range(
    identity: str, text: str, *, preset: str | None = None, kinds: str | None = None
) -> AskedRange | None:
    """Return what "3" or "5000-5010" asks for; None if it is neither, empty or too long."""
    found = _STEPS.fullmatch(text)
    if found is None or not _ID.fullmatch(identity):
        return None
    if any(name is not None and not _NAMES.fullmatch(name) for name in (preset, kinds)):
        return None
    first = int(found["first"])
    if found["last"] is None:
        if not 0 < first <= MOST_STEPS:
            return None
        return AskedRange(identity, next=first, preset=preset, kinds=kinds)
    last = int(found["last"])
    if not 0 <= last - first < MOST_STEPS:
        return None
    return AskedRange(identity, first=first, last=last, preset=preset, kinds=kinds)


def ask_file(journal: str) -> str:
    """Return the path of the file of a question."""
    return os.path.join(asks_of(journal), _NAME)  # noqa: PTH118  # as a string


def leave_ask(
    journal: str,
    identity: str,
    steps: str,
    *,
    preset: str | None = None,
    kinds: str | None = None,
) -> bool:
    """Leave a question. Return False if another one is there, which the training has not read.

    Raises
    ------
    OSError : the folder or the file cannot be written, or the folder is somebody else's.
    """
    file = ask_file(journal)
    folder = os.path.dirname(file)  # noqa: PTH120  # as a string
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # noqa: PTH102  # as a string
    if not is_private(os.lstat(folder), stat.S_ISDIR):
        raise PermissionError(1, "the folder is not private")
    temporary = f"{file}.{identity}"
    handle = os.open(temporary, _CREATE, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            values = {"id": identity, "steps": steps, "preset": preset, "kinds": kinds}
            json.dump({k: v for k, v in values.items() if v is not None}, stream)
        os.link(temporary, file)  # unlike rename, it replaces nothing
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)  # noqa: PTH108  # as a string
    return True


def take_ask(journal: str) -> AskedRange | None:
    """Read and remove a question; None if it is not one that hookcli writes for the same user.

    Raises
    ------
    OSError : it cannot be removed.
    """
    file = ask_file(journal)
    text = b""
    try:
        if is_private(os.lstat(os.path.dirname(file)), stat.S_ISDIR):  # noqa: PTH120
            text = _content(file)
    finally:
        os.unlink(file)  # noqa: PTH108  # as a string
    try:
        value = json.loads(text)
        return parse_range(
            value["id"], value["steps"], preset=value.get("preset"), kinds=value.get("kinds")
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _content(file: str) -> bytes:
    """Return what a private file of this user contains; nothing of another one."""
    try:
        handle = os.open(file, _READ)
    except OSError:  # a link
        return b""
    try:
        if not is_private(os.fstat(handle), stat.S_ISREG):
            return b""
        return os.read(handle, _MOST_BYTES)
    finally:
        os.close(handle)


def is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Return whether a file or folder is this user's, and nobody else's may open it."""
    if not is_kind(status.st_mode) or stat.S_IMODE(status.st_mode) & 0o077:
        return False
    return status.st_uid == os.geteuid()
