"""How large a model would be, before it is built for real."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable

from torch import nn

from hookcli.models import walk
from hookcli.models.fake import on_meta

_PATIENCE = 5.0  # seconds: a constructor that takes longer on meta is not waited for


def held_bytes(root: nn.Module) -> int:
    """Bytes of the distinct parameters and buffers."""
    return sum(
        tensor.numel() * tensor.element_size()
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in walk.tensors(root, table)
        if not nn.parameter.is_lazy(tensor)
    )


def bytes_when_built(build: Callable[[], nn.Module]) -> int | None:
    """What `held_bytes` would be, from a build on the meta device in a process of its own.

    Nothing that the constructor does there is felt here. None where it does not tell.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pid = os.fork()
    if pid == 0:
        _tell(build, write)
    os.close(write)
    try:
        ready, _, _ = select.select([read], [], [], _PATIENCE)
        told = os.read(read, 32) if ready else b""
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return int(told) if told else None


def _tell(build: Callable[[], nn.Module], write: int) -> None:
    """In the fork: build, say the size, and be gone."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        with on_meta():
            size = held_bytes(build())
        os.write(write, str(size).encode())
    finally:
        os._exit(0)
