"""The child's last event, in memory that outlives it, and Python's own dump of where it died.

Two slots are written in turn and then switched by one byte, so that a reader never sees half of
an event, whenever the writer dies.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

_SLOT = 2048
_HEAD = struct.Struct("<H")
_SIZE = 2 * _SLOT + 1
_DUMP_LIMIT = 1 << 16
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)
_OURS = str(Path(__file__).parent.parent) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep


@dataclass(frozen=True, slots=True)
class LastEvent:
    """Where the child had come. `layer` is a qualified name with its type, "" for none."""

    phase: str
    layer: str | None
    call: int | None
    place: str | None

    def sentence(self) -> str:
        """In words: "in forward, in layer1.0.conv (call 2)"."""
        if self.layer is None:
            return f"in {self.phase}"
        name = self.layer or "the model itself"
        call = f" (call {self.call})" if self.call else ""
        return f"in {self.phase}, in {name}{call}"


class Writer:
    """The child's side. Costs two copies of a few bytes an event."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, _SIZE)
        self._slot = 0

    def write(self, phase: str, layer: str | None, call: int, place: str | None) -> None:
        """Note that `call` of `layer` runs; `layer` None: none does."""
        running = "" if layer is None else f"\0{layer[:600]}\0{call}\0{place or ''}"
        text = phase + running
        data = text.encode("utf-8", "replace")[: _SLOT - 2]
        start = self._slot * _SLOT
        self._map[start : start + 2] = _HEAD.pack(len(data))
        self._map[start + 2 : start + 2 + len(data)] = data
        self._map[2 * _SLOT] = self._slot
        self._slot = 1 - self._slot


class BlackBox:
    """The parent's side: two unlinked files, which the child gets as descriptors."""

    def __init__(self) -> None:
        self._events = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._events.truncate(_SIZE)
        self._dump = tempfile.TemporaryFile()  # noqa: SIM115
        Writer(self._events.fileno()).write("start", None, 0, None)

    @property
    def descriptors(self) -> tuple[int, int]:
        """For the child: the events' and the dump's."""
        return self._events.fileno(), self._dump.fileno()

    def last(self) -> LastEvent:
        """The last whole event; the dump's user line, where there is one, is its place."""
        data = os.pread(self._events.fileno(), _SIZE, 0)
        start = (1 if data[2 * _SLOT] else 0) * _SLOT
        (size,) = _HEAD.unpack_from(data, start)
        text = data[start + 2 : start + 2 + min(size, _SLOT - 2)].decode("utf-8", "replace")
        phase, *rest = text.split("\0")
        layer, call, place = rest if len(rest) == 3 else (None, "0", "")
        return LastEvent(
            phase=phase,
            layer=layer,
            call=int(call) if layer is not None and call.isdigit() else None,
            place=self._dumped() or place or None,
        )

    def _dumped(self) -> str | None:
        text = os.pread(self._dump.fileno(), _DUMP_LIMIT, 0).decode("utf-8", "replace")
        main = text.rpartition("Current thread")[2]  # the last dump's
        for filename, line in _FRAME.findall(main):
            if _is_user(filename):
                return f"{_shown(filename)}:{line}"
        return None

    def close(self) -> None:
        """Free the memory."""
        self._events.close()
        self._dump.close()


def _is_user(filename: str) -> bool:
    installed = "site-packages" in filename or "dist-packages" in filename
    if filename.startswith(("<", _OURS)) or f"{os.sep}torch{os.sep}" in filename:
        return False
    return installed or not filename.startswith(_STDLIB)


def _shown(filename: str) -> str:
    try:
        return Path(filename).resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (ValueError, OSError):
        return filename
