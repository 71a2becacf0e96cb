"""A file without a name: nothing of it is left, however the processes that use it end."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class UnnamedFile:
    """A file without a name. Other processes open it by the path of its descriptor in this one."""

    handle: int
    path: str

    @classmethod
    def create(cls) -> UnnamedFile:
        """Create it in the folder for temporary files, else in memory.

        Raises
        ------
        OSError : it cannot be created.
        """
        try:
            with tempfile.TemporaryFile(prefix="hookcli-") as file:
                handle = os.dup(file.fileno())
        except OSError:
            handle = os.memfd_create("hookcli")
        return cls(handle, f"/proc/{os.getpid()}/fd/{handle}")

    def read(self) -> bytes:
        """Return the content."""
        return Path(self.path).read_bytes()
