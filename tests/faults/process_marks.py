"""What is left of a command: the processes that inherit a mark, and the files of a folder."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

MARK = "HOOKCLI_FAULTS_MARK"  # inherited by every process that a command starts
HOOKCLI = (sys.executable, "-m", "hookcli")
PATIENCE = 60.0  # seconds for what is left to end


def torchs_own(entry: Path) -> bool:
    """Whether torch makes this empty folder, also without hookcli, when it imports its compiler."""
    return entry.name.startswith("torchinductor_") and entry.is_dir() and not [*entry.iterdir()]


def listing(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a folder."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def left_over(mark: str) -> list[int]:
    """Return the processes with this mark that do not end."""
    until = time.monotonic() + PATIENCE
    while (found := marked(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def marked(mark: str) -> list[int]:
    """Return the processes that have inherited a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in environment and state != "Z":
            found.append(int(entry.name))
    return found
