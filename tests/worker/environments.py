"""Environments for models: virtual environments with links to installed packages, without pip."""

from __future__ import annotations

import importlib.metadata as metadata
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path


def dependencies(*names: str) -> dict[str, metadata.Distribution]:
    """The installed distributions of these names, and all that they need."""
    todo, found = list(names), {}
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another platform
            continue
        needed = (item for item in found[name].requires or () if "extra ==" not in item)
        todo += [re.match(r"[\w.-]+", item)[0] for item in needed]
    return found


def environment(folder: Path, *packages: str, files: dict[str, str] = {}) -> Path:
    """A virtual environment of this Python with these packages, and files in site-packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = site_of(folder)
    for distribution in dependencies(*packages).values():
        tops = {Path(str(file)).parts[0] for file in distribution.files or ()}
        for top in tops - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(distribution.locate_file(top))
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return folder


def site_of(folder: Path) -> Path:
    return next(folder.glob("lib/python3*/site-packages"))


def other_python(version: str) -> str | None:
    """The path of a version of Python, such as "3.12"; None if it is not on this machine."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    command = str(installed[0]) if installed else shutil.which(f"python{version}")
    if command is None or version == f"3.{sys.version_info[1]}":
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"  # a shim may start none
    done = subprocess.run([command, "-c", code], capture_output=True, text=True)
    return command if done.stdout.strip() == version else None
