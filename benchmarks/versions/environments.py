"""Virtual environments, one for each version of torch."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hookcli.torch_private import as_numbers

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of torch, and the Python to try it with: ("2.6", "3.10")."""

    torch: str
    python: str

    @property
    def name(self) -> str:
        """The folder of its environment."""
        return f"torch-{self.torch}"


VERSIONS = (
    Version("2.6", "3.10"),
    Version("2.8", "3.12"),
    Version("2.10", "3.11"),
    Version("2.13", "3.11"),
    Version("2.15", "3.13"),
)


class NotInstalledError(Exception):
    """There is no environment, and none can be made."""


def interpreter(folder: Path, version: Version) -> Path:
    """Return the interpreter of an environment in `folder`, which is made if there is none.

    An environment that exists is used as it is, whatever made it, if its torch is the right one.

    Raises
    ------
    NotInstalledError : there is no such Python, or pip failed.
    """
    python = folder / version.name / "bin" / "python"
    if not python.exists():
        _make(folder / version.name, version)
    found = output(python, "import torch; print(torch.__version__)")
    if as_numbers(found) != as_numbers(version.torch):
        raise NotInstalledError(f"{python} has torch {found}, not {version.torch}")
    return python


def _make(folder: Path, version: Version) -> None:
    base = _base_python(version.python)
    print(f"  creating {folder} (5 to 7 GB, unless the index has CPU builds)", flush=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    try:
        subprocess.run([base, "-m", "venv", folder], check=True)
        subprocess.run([*pip, f"torch=={version.torch}.*"], check=True)
        subprocess.run([*pip, "-e", f"{ROOT}[test]"], check=True)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotInstalledError(f"cannot install torch {version.torch}: {error}") from None


def _base_python(version: str) -> str:
    """Return an interpreter of this version: on PATH, or one that pyenv installed."""
    found = shutil.which(f"python{version}")
    if found is not None:
        return found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in sorted((root / "versions").glob(f"{version}.*")):
        if (folder / "bin" / "python").exists():
            return str(folder / "bin" / "python")
    raise NotInstalledError(f"no Python {version}: install it, for example with pyenv")


def output(python: Path, code: str) -> str:
    """Return what a line of Python prints in an environment.

    Raises
    ------
    NotInstalledError : it failed.
    """
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise NotInstalledError(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()
