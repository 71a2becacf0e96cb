"""Estimate the size of a model before it is really built."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from hookcli.models import module_tree
from hookcli.models.fake.fake import on_meta
from hookcli.models.fake.fork import in_fork

_PATIENCE = 5.0  # seconds after which a constructor on meta is given up


def held_bytes(root: nn.Module) -> int:
    """Return the bytes of the distinct parameters and buffers."""
    return sum(
        tensor.numel() * tensor.element_size()
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in module_tree.tensors(root, table)
        if not nn.parameter.is_lazy(tensor)
    )


def bytes_when_built(build: Callable[[], nn.Module]) -> int | None:
    """Return what `held_bytes` would be, from a build on the meta device in a separate process.

    The constructor cannot affect this process. None if the build fails or takes too long.
    """

    def size() -> bytes:
        with on_meta():
            return str(held_bytes(build())).encode()

    answer = in_fork(size, patience=_PATIENCE)
    return int(answer) if answer else None
