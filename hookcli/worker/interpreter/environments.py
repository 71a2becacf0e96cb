"""Virtual and conda environments: their interpreter, and whether torch is installed in them.

This is imported before the command line is read, so it imports little.
"""

from __future__ import annotations

import os
import subprocess
import sys

from hookcli.interpreters.names import has_package
from hookcli.interpreters.start import python_command, run_python

OLDEST_PYTHON = "3.10"  # pyproject.toml has it too
_PYTHONS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
# What Python prints for "yes". It is not a part of the code, which `echo` would print, and not an
# exit status, which is lost if this process ignores SIGCHLD.
_SAYS_YES = "sys.stdout.write('hookcli: %d' % (7 * 1000003))"
_YES = b"hookcli: 7000021"
_HAS_TORCH = f"""
import importlib.util
if importlib.util.find_spec("torch"): {_SAYS_YES}
"""
_IS_PYTHON = _SAYS_YES
_WAIT = 20.0  # seconds for an interpreter to start


def python_of(folder: str) -> str | None:
    """Return the interpreter of an environment; None if the folder is not one.

    Links are not resolved: a virtual environment is known by the path of its link.
    """
    for name in _PYTHONS:
        path = os.path.join(folder, name)  # noqa: PTH118  # pathlib is slow to import
        if os.path.isfile(path):  # noqa: PTH113
            return path
    return None


def own_has_torch() -> bool:
    """Return whether the interpreter of this process can import torch, without importing it."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if find is None else find("torch", None)
        if spec is not None:
            return spec.origin is not None  # otherwise it is any folder named torch
    return False


def has_torch(folder: str, python: str) -> bool:
    """Return whether an environment has torch.

    The interpreter is started only if torch is not in the environment's own folder: it may also
    come from a path file, or from the packages of the system.
    """
    if has_package(folder, "torch"):
        return True
    return _run(python_command(python, _HAS_TORCH))


def is_python(path: str) -> bool:
    """Return whether a program is a Python interpreter, even if its environment is broken."""
    return _run(python_command(path, _IS_PYTHON, flags=("-E", "-S")))


def _run(command: list[str]) -> bool:
    try:
        done = run_python(
            command,
            input=b"",  # pipes, as a system may lack /dev/null
            capture_output=True,
            timeout=_WAIT,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.endswith(_YES)
