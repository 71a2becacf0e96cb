"""Estimates the memory that training takes, from the tensors that forward saved for backward."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.models import module_tree
from hookcli.models.bits import storage_of
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.recording import Training

_PREFIX = "_raw_saved_"


@cache
def _saved_names(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name.startswith(_PREFIX))


def _saved(node: Any) -> Iterable[torch.Tensor]:
    """Yield the tensors that a node saved for its backward.

    Tensors packed by hooks, as checkpoints do, are not read: unpacking would recompute them.
    """
    values: list[Any] = []
    kind: Any = type(node)
    for name in _saved_names(kind):
        try:
            value = getattr(node, name, None)
        except RuntimeError:  # freed: the model ran backward itself
            continue
        values += value if isinstance(value, (tuple, list)) else [value]
    for item in values:
        if item is None or getattr(item, "unpack_hook", None) is not None:
            continue
        try:
            data = getattr(item, "data", None)
        except RuntimeError:  # freed: the model ran backward itself
            continue
        if isinstance(data, torch.Tensor):
            yield data


def _storage(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return (id, bytes) of a tensor's storage."""
    storage = storage_of(tensor)
    return None if storage is None else (storage._cdata, storage.nbytes())


def training(
    root: torch.nn.Module, batch: tuple[tuple[Any, ...], dict[str, Any]], output: Any
) -> tuple[Training | None, set[Any]]:
    """Return the bytes of saved tensors and gradients; None if nothing requires grad.

    The second value contains the nodes of the graph, to be freed with `let_go` of
    hookcli/hooks/attach/graph.py after the output.
    """
    todo = [t.grad_fn for _, t, _ in leaves(output) if t.grad_fn is not None]
    if not todo:
        return None, set()
    known = {
        storage[0]
        for tensor in (
            *(
                t
                for table in ("_parameters", "_buffers")
                for t, _, _ in module_tree.tensors(root, table)
            ),
            *(t for _, t, _ in argument_leaves(*batch)),
        )
        if (storage := _storage(tensor)) is not None
    }
    sizes: dict[int, int] = {}
    seen: set[Any] = set()
    while todo:
        node: Any = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo += [following for following, _ in node.next_functions if following is not None]
        for tensor in _saved(node):
            storage = _storage(tensor)
            if storage is not None and storage[0] not in known:
                sizes[storage[0]] = storage[1]
    result = Training(
        saved_bytes=sum(sizes.values()),
        gradient_bytes=sum(
            p.numel() * p.element_size()
            for p, _, _ in module_tree.tensors(root, "_parameters")
            if p.requires_grad and not is_lazy(p)
        ),
    )
    return result, seen
