"""How large a model would be, before it is built for real."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from hookcli.models import module_tree
from hookcli.models.fake.fake import on_meta
from hookcli.models.fake.fork import in_fork

_PATIENCE = 5.0  # seconds: a constructor that takes longer on meta is not waited for


def held_bytes(root: nn.Module) -> int:
    """Bytes of the distinct parameters and buffers."""
    return sum(
        tensor.numel() * tensor.element_size()
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in module_tree.tensors(root, table)
        if not nn.parameter.is_lazy(tensor)
    )


def bytes_when_built(build: Callable[[], nn.Module]) -> int | None:
    """What `held_bytes` would be, from a build on the meta device in a process of its own.

    Nothing that the constructor does there is felt here. None where it does not tell.
    """

    def size() -> bytes:
        with on_meta():
            return str(held_bytes(build())).encode()

    told = in_fork(size, patience=_PATIENCE)
    return int(told) if told else None
