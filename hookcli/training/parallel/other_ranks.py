"""The reports of all ranks of one machine, brought together without any communication.

The script's process group is left alone: each rank leaves a file in a folder that rank 0 has made.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hookcli.whole_files import HELD, hold_folder, remove_abandoned, remove_folder

_PATIENCE = 5.0  # seconds that rank 0 waits for the others, which may still be writing
_JOB = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


@dataclass(frozen=True, slots=True)
class OtherRanks:
    """One rank, the number of all, and of those on this machine, which are the first ones.

    `job` is the same for all ranks of one start of a script, on all machines.
    """

    rank: int
    world_size: int
    local: int
    folder: Path
    job: str = ""

    @classmethod
    def of_environment(
        cls, names: Mapping[str, str], started_by: int | None = None
    ) -> OtherRanks | None:
        """Return what torchrun has set; None if there is one rank.

        `started_by` is the process that has started this rank's command; by default, the parent.
        """
        try:
            rank, world_size = int(names.get("RANK", "0")), int(names.get("WORLD_SIZE", "1"))
            local = int(names.get("LOCAL_WORLD_SIZE", str(world_size)))
        except ValueError:
            return None
        if world_size < 2:
            return None
        job = [names.get(name, "") for name in _JOB]
        user = os.getuid() if hasattr(os, "getuid") else 0
        # The ranks of one job were started by the same process: torchrun.
        started = _key([*job, str(started_by or os.getppid())])
        folder = Path(tempfile.gettempdir()) / f"{HELD}{user}-{started}"
        return cls(rank, world_size, min(local, world_size), folder, _key(job))

    def open(self) -> int | None:
        """Make the folder, on rank 0, and hold it as long as the process lives.

        The descriptor with which it is held is never closed: the script may have closed it, and
        use the number for a file of its own. Folders of processes that were killed are removed.
        """
        if self.rank:
            return None
        remove_abandoned(str(self.folder.parent))
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            return hold_folder(str(self.folder))
        return None

    def close(self) -> None:
        """Remove the folder, on rank 0."""
        if self.rank == 0:
            remove_folder(str(self.folder))

    def leave(self, report: str) -> None:
        """Leave the report of this rank for rank 0, if it still waits for it."""
        if not self._is_ours():
            return
        held = hold_folder(str(self.folder))
        if held is not None:  # rank 0 was killed
            remove_folder(str(self.folder))
            os.close(held)
            return
        unfinished = self.folder / f"unfinished-{self.rank}"
        with contextlib.suppress(OSError):
            unfinished.write_text(report, "utf-8")
            unfinished.replace(self.folder / str(self.rank))

    def collect(self, *, wait: bool) -> list[str]:
        """Return the reports of the other ranks of this machine, of those that left one."""
        until = time.monotonic() + (_PATIENCE if wait else 0)
        found: dict[int, str] = {}
        while self._is_ours():
            for rank in range(1, self.local):
                if rank not in found:
                    with contextlib.suppress(OSError):
                        found[rank] = (self.folder / str(rank)).read_text("utf-8")
            if len(found) == self.local - 1 or time.monotonic() > until:
                break
            time.sleep(0.02)
        return [found[rank] for rank in sorted(found)]

    def _is_ours(self) -> bool:
        try:
            status = self.folder.lstat()
        except OSError:
            return False
        return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _key(words: list[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
