"""The parameters of all ranks of one machine, brought together without any communication.

The script's process group is left alone: each rank leaves a file in a folder that rank 0 has made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookcli.report.report import Report
from hookcli.text import join_names
from hookcli.whole_files import HELD, hold_folder, remove_abandoned, remove_folder

_PATIENCE = 5.0  # seconds that rank 0 waits for the others, which may still be writing
_JOB = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


@dataclass(frozen=True, slots=True)
class OtherRanks:
    """One rank, the number of all, and of those on this machine, which are the first ones."""

    rank: int
    world_size: int
    local: int
    folder: Path

    @classmethod
    def of_environment(cls, names: Mapping[str, str]) -> OtherRanks | None:
        """Return what torchrun has set; None if there is one rank."""
        try:
            rank, world_size = int(names.get("RANK", "0")), int(names.get("WORLD_SIZE", "1"))
            local = int(names.get("LOCAL_WORLD_SIZE", str(world_size)))
        except ValueError:
            return None
        if world_size < 2:
            return None
        # The ranks of one job have the same parent: torchrun.
        job = [*(names.get(name, "") for name in _JOB), str(os.getppid())]
        user = os.getuid() if hasattr(os, "getuid") else 0
        key = hashlib.sha256("\0".join(job).encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"{HELD}{user}-{key}"
        return cls(rank, world_size, min(local, world_size), folder)

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

    def leave(self, records: Sequence[Report], forms: Sequence[str]) -> None:
        """Leave the digests for rank 0, if it still waits for them.

        `forms` has, for each record, a digest of the names and shapes of its parameters.
        """
        found = {
            report.training.record: {"form": form, "digests": report.training.digests}
            for report, form in zip(records, forms, strict=True)
            if report.training is not None and report.training.digests is not None
        }
        if not self._is_ours():
            return
        held = hold_folder(str(self.folder))
        if held is not None:  # rank 0 was killed
            remove_folder(str(self.folder))
            os.close(held)
            return
        unfinished = self.folder / f"unfinished-{self.rank}"
        with contextlib.suppress(OSError):
            unfinished.write_text(json.dumps(found))
            unfinished.replace(self.folder / str(self.rank))

    def collect(
        self, records: Sequence[Report], forms: Sequence[str], *, wait: bool
    ) -> tuple[tuple[Report, ...], list[str]]:
        """Return the records with the digests of all ranks, and a note on ranks without any."""
        if not any(r.training is not None and r.training.digests for r in records):
            return tuple(records), []
        files = self._files(_PATIENCE if wait else 0)
        read = {rank: json.loads(text) for rank, text in files.items()}
        notes = []
        absent = [str(rank) for rank in range(1, self.local) if rank not in read]
        if absent and wait:
            notes.append(f"parameters were not compared with those of rank {join_names(absent)}")
        if self.local < self.world_size:
            notes.append("parameters were compared only with those of ranks on this machine")
        return tuple(self._joined(r, f, read) for r, f in zip(records, forms, strict=True)), notes

    def _joined(
        self, report: Report, form: str, read: Mapping[int, dict[str, dict[str, object]]]
    ) -> Report:
        info = report.training
        if info is None or info.digests is None:
            return report
        rows: dict[int, list[str | None]] = {
            step: [digest, *[None] * (self.world_size - 1)] for step, digest in info.digests.items()
        }
        for rank, records in read.items():
            other = records.get(info.record, {})
            digests = other.get("digests")
            if other.get("form") != form or not isinstance(digests, dict):
                continue  # another model, as in pipelines
            for step, row in rows.items():
                row[rank] = digests.get(str(step))
        joined = {step: tuple(row) for step, row in rows.items()}
        return replace(report, training=replace(info, rank_digests=joined))

    def _files(self, patience: float) -> dict[int, str]:
        until = time.monotonic() + patience
        found: dict[int, str] = {}
        while self._is_ours():
            for rank in range(1, self.local):
                if rank not in found:
                    with contextlib.suppress(OSError):
                        found[rank] = (self.folder / str(rank)).read_text()
            if len(found) == self.local - 1 or time.monotonic() > until:
                break
            time.sleep(0.02)
        return found

    def _is_ours(self) -> bool:
        try:
            status = self.folder.lstat()
        except OSError:
            return False
        return not hasattr(os, "getuid") or status.st_uid == os.getuid()
