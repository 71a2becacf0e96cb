"""Small disks and folders that nobody can write to, for tests that may mount."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_PAGE = 4096  # bytes, the unit in which a tmpfs is filled


def can_mount() -> bool:
    """Return whether this process may mount, which it tries where nobody else sees it."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="this process may not mount a small disk")


@contextlib.contextmanager
def small_disk(folder: Path, kibibytes: int = 256) -> Iterator[None]:
    """Mount a disk of this size on a folder, with the files that the folder had."""
    contents = {file.name: file.read_bytes() for file in folder.iterdir()}
    _mount("-t", "tmpfs", "-o", f"size={kibibytes}k,mode=777", "tmpfs", str(folder))
    try:
        for name, data in contents.items():
            (folder / name).write_bytes(data)
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def mounted(file: Path) -> Iterator[None]:
    """Make a file a mount point, as a container does with the files that it is given."""
    _mount("--bind", str(file), str(file))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(file)], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder part of a file system that cannot be written."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def fill(folder: Path, pages: int = 0) -> None:
    """Fill the disk of a folder, except for so many pages of 4 KiB."""
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(_PAGE))
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - pages * _PAGE)
