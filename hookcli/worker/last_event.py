"""The child's last event, in memory that outlives it, and Python's own dump of its last stack.

Two slots are written in turn and switched by one byte, so that a reader never sees an incomplete
event, whenever the writer dies.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SLOT = 2048
_HEAD = struct.Struct("<H")
_SIZE = 2 * _SLOT + 1
_LONGEST = 900  # bytes of a layer's name or of a place, so that both fit into a slot
_LONGEST_DOING = 100  # bytes
_OF_CALL = 3  # fields: layer, call and place
_DUMP_LIMIT = 1 << 16
_DUMP = "Stack (most recent call first)"  # and not the C stack, which Python 3.14 adds
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_OURS = str(Path(__file__).parent.parent) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_ANY_STDLIB = re.compile(r"/lib(?:64)?/python\d+\.\d+/")  # of the child's Python, which may differ
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


_DURING = {"inputs": "while the batch was made, which may run the model"}


@dataclass(frozen=True, slots=True)
class LastEvent:
    """How far the child had come. `layer` is a qualified name, or a type in angle brackets.

    `doing` names work within the phase that is neither a layer nor a step, such as a probe.
    """

    phase: str
    layer: str | None
    call: int | None
    place: str | None
    step: int = 0
    doing: str | None = None

    def sentence(self) -> str:
        """Describe it: "in forward, in layer1.0.conv (call 2)"."""
        if self.layer is None:
            return _DURING.get(self.phase, f"in {self.phase}")
        name = self.layer or "the model itself"
        call = f" (call {self.call})" if self.call else ""
        return f"in {self.phase}, in {name}{call}"


def _field(text: str, longest: int = _LONGEST) -> bytes:
    data = text.replace("\0", "").encode("utf-8", "replace")
    if len(data) > longest:  # the end of a path is more useful than its start
        data = b"..." + data[-longest:]
    return data


class LastEventWriter:
    """The child's side. Each event costs two copies of a few bytes."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, _SIZE)
        self._slot = 0

    def write(self, event: LastEvent) -> None:
        """Write an event."""
        fields = [event.phase, str(event.step)]
        if event.layer is not None:
            fields += [event.layer, str(event.call or 0), event.place or ""]
        data = b"\0".join((_field(event.doing or "", _LONGEST_DOING), *map(_field, fields)))
        start = self._slot * _SLOT
        self._map[start : start + 2] = _HEAD.pack(len(data))
        self._map[start + 2 : start + 2 + len(data)] = data
        self._map[2 * _SLOT] = self._slot
        self._slot = 1 - self._slot


class LastEventReader:
    """The parent's side of two unnamed files that the child shares and writes afterwards."""

    def __init__(self, events: int, dump: int) -> None:
        self._events = events
        self._dump = dump
        os.ftruncate(self._events, _SIZE)
        LastEventWriter(self._events).write(LastEvent("start", None, None, None))

    def last(self) -> LastEvent:
        """Return the last complete event."""
        data = os.pread(self._events, _SIZE, 0).ljust(_SIZE, b"\0")  # a model may truncate it
        start = (1 if data[2 * _SLOT] else 0) * _SLOT
        (size,) = _HEAD.unpack_from(data, start)
        text = data[start + 2 : start + 2 + min(size, _SLOT - 2)].decode("utf-8", "replace")
        doing, phase, number, *rest = *text.split("\0"), "", ""
        if not phase.isidentifier():  # a model has written to the file
            return LastEvent("run", None, None, None)
        step = int(number) if number.isdigit() else 0
        if len(rest) < _OF_CALL:
            return LastEvent(phase, None, None, None, step, doing or None)
        layer, call, place = rest[:_OF_CALL]
        index = int(call) if call.isdigit() else None
        return LastEvent(phase, layer, index, place or None, step, doing or None)

    def dumped_place(self) -> str | None:
        """Return the user's line in the last dump, once the dump is complete."""
        text = os.pread(self._dump, _DUMP_LIMIT, 0).decode("utf-8", "replace")
        last = text.rpartition(_DUMP)[2]
        return user_line((_unescaped(name), int(line)) for name, line in _FRAME.findall(last))


def _unescaped(filename: str) -> str:
    """Undo the escapes of the fault handler, which writes only ASCII."""
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), filename)


def is_ours(filename: str) -> bool:
    """Whether a file belongs to hookcli."""
    return filename.startswith(_OURS)


def user_line(frames: Iterable[tuple[str, int | None]]) -> str | None:
    """Return the first line of the user's own code, as "file.py:12"; else of an installed package.

    Parameters
    ----------
    frames : files and lines, innermost first.

    """
    installed = None
    for filename, line in frames:
        package = next((part for part in _PACKAGES if part in filename), None)
        if filename.startswith("<") or is_ours(filename):
            continue
        if package is None and not _is_standard(filename):
            return f"{_shown(filename)}:{line}"
        if installed is None and package and f"{package}torch{os.sep}" not in filename:
            installed = f"{filename}:{line}"
    return installed


def _is_standard(filename: str) -> bool:
    return filename.startswith(_STDLIB) or _ANY_STDLIB.search(filename) is not None


def _shown(filename: str) -> str:
    try:
        return Path(filename).resolve().relative_to(_CWD).as_posix()
    except (ValueError, OSError):
        return filename


def _cwd() -> Path:
    try:
        return Path.cwd().resolve()
    except OSError:  # the folder is gone
        return Path(os.sep)


_CWD = _cwd()  # before the model's code ran: a model may change it
