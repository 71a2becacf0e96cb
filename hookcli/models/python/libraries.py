"""The user's compiled operators: shared libraries that use TORCH_LIBRARY."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import IO

import torch

from hookcli.errors import RequestError
from hookcli.models.fake.fork import CAN_FORK, in_fork
from hookcli.models.sources.file_errors import file_not_found

_PATIENCE = 120.0  # seconds to load one library
_NAMESPACE = re.compile(r"register the namespace (\w+)")


def load_libraries(paths: tuple[str, ...], place: str = "libraries") -> None:
    """Load each library that is not loaded yet, so that torch.ops has its operators.

    Each library is first tried in a fork, where the system has it, and refused if it would end the
    process.

    Raises
    ------
    RequestError : a file does not exist, is not a library, or conflicts with a loaded library.
    """
    for path in paths:
        real = os.path.realpath(path)
        if real in torch.ops.loaded_libraries:
            continue
        if not Path(real).is_file():
            raise file_not_found(path, place, at=Path(path))
        if CAN_FORK:
            _try(path, real, place)
        torch.ops.load_library(real)  # type: ignore[no-untyped-call]


def _try(path: str, real: str, place: str) -> None:
    """Load it in a fork. torch ends the process if two libraries define one namespace."""
    with tempfile.TemporaryFile() as stderr:
        refusal = in_fork(lambda: _load(real, stderr), patience=_PATIENCE)
        stderr.seek(0)
        last = stderr.read().decode(errors="replace")
    if refusal is None:
        raise _ended(path, last, place)
    if refusal:
        reason = refusal.decode(errors="replace").removeprefix(f"{real}: ").splitlines()[0]
        symbol = "undefined symbol" in reason
        raise RequestError(
            f"cannot load {path}: {reason}",
            place=place,
            hint=f"build it against torch {torch.__version__}"
            if symbol
            else "give a shared library, as `g++ -shared` builds it",
        )


def _load(real: str, stderr: IO[bytes]) -> bytes:
    """Load it, in the fork; return why it cannot be loaded, or nothing."""
    import resource  # not on Windows, which has no fork either

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(stderr.fileno(), 2)  # C++ writes there why it ends the process
    try:
        torch.ops.load_library(real)  # type: ignore[no-untyped-call]
    except (OSError, RuntimeError) as error:
        return str(error.__cause__ or error).encode() or b"no reason given"
    return b""


def _ended(path: str, stderr: str, place: str) -> RequestError:
    match = _NAMESPACE.search(stderr)
    if match is not None:
        return RequestError(
            f"{path} defines the operator namespace {match[1]}, which another library already "
            "defines: torch would end the process",
            place=place,
            hint=f"write `TORCH_LIBRARY_FRAGMENT({match[1]}, m)` in all but one of them",
        )
    what = next((line.strip() for line in stderr.splitlines() if "what():" in line), "")
    return RequestError(
        f"loading {path} ends the process"
        + (f": {what.partition('what():')[2].strip()}"[:200] if what else ""),
        place=place,
        hint="check that each library loads by itself, and that no two register the same operator",
    )
