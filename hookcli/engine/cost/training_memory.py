"""Reads the tensors that forward saved for backward, and the calls that saved them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.hooks.attach.graph import in_order
from hookcli.models import module_tree
from hookcli.models.bits import storage_of
from hookcli.models.model import CallInputs
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.recording import Training

_PREFIX = "_raw_saved_"


@cache
def _saved_names(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name.startswith(_PREFIX))


def _saved(node: Any) -> Iterable[torch.Tensor | None]:
    """Yield the tensors that a node saved for its backward.

    None stands for a tensor that hooks packed, as checkpoints do: unpacking would recompute it.
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
        if item is None:
            continue
        try:
            data = _data_of(item)
        except RuntimeError:  # freed: the model ran backward itself
            continue
        if data is None or isinstance(data, torch.Tensor):
            yield data


def _data_of(saved: Any) -> Any:
    """Return the tensor of torch's SavedTensor; None if hooks packed it.

    Raises
    ------
    RuntimeError : it was freed.

    """
    if hasattr(saved, "unpack_hook"):
        return saved.data if saved.unpack_hook is None else None
    # Before torch 2.10, a saved tensor shows itself only to hooks, of which it accepts one pair.
    reader = _Reader()
    try:
        saved.register_hooks(reader, lambda tensor: tensor)
    except RuntimeError:  # it has hooks
        return None
    return reader.tensor


class _Reader:
    """A hook that keeps the tensor it packs, and changes nothing."""

    tensor: torch.Tensor | None = None

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        self.tensor = tensor
        return tensor.detach()  # the tensor itself would reference the graph that keeps it


def _storage(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return (id, bytes) of a tensor's storage."""
    storage = storage_of(tensor)
    return None if storage is None else (storage._cdata, storage.nbytes())


def _owned(root: torch.nn.Module, batch: CallInputs) -> set[int]:
    """Return the addresses of the storages of the model's own tensors and the batch."""
    tensors = (
        *(
            t
            for table in ("_parameters", "_buffers")
            for t, _, _ in module_tree.tensors(root, table)
        ),
        *(t for _, t, _ in argument_leaves(*batch)),
    )
    return {storage[0] for tensor in tensors if (storage := _storage(tensor)) is not None}


@dataclass(slots=True)
class SavedStorages:
    """What the graph of an output saved, by storage. The model's own tensors are not included.

    `first` is the number of the first node that saved a storage. `packed` tells whether hooks
    packed a tensor, as checkpoints do: what they hold is not in the graph. `nodes` are to be freed
    in order, with `let_go` of hookcli/hooks/attach/graph.py, after the output.
    """

    sizes: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    packed: bool = False
    nodes: set[Any] = field(default_factory=set)


def saved_tensors(root: torch.nn.Module, batch: CallInputs, output: Any) -> SavedStorages | None:
    """Return the tensors that autograd saved for the backward of an output.

    None if nothing requires grad.
    """
    todo = [t.grad_fn for _, t, _ in leaves(output) if t.grad_fn is not None]
    if not todo:
        return None
    known = _owned(root, batch)
    result = SavedStorages()
    while todo:
        node: Any = todo.pop()
        if node in result.nodes:
            continue
        result.nodes.add(node)
        todo += [following for following, _ in node.next_functions if following is not None]
        number = node._sequence_nr()
        for tensor in _saved(node):
            if tensor is None:
                result.packed = True
                continue
            storage = _storage(tensor)
            if storage is not None and storage[0] not in known:
                result.sizes[storage[0]] = storage[1]
                result.first[storage[0]] = min(result.first.get(storage[0], number), number)
    return result


def trainable_bytes(root: torch.nn.Module) -> int:
    """Return the bytes of a gradient for each trainable parameter."""
    return sum(
        p.numel() * p.element_size()
        for p, _, _ in module_tree.tensors(root, "_parameters")
        if p.requires_grad and not is_lazy(p)
    )


def training(
    root: torch.nn.Module, batch: CallInputs, output: Any
) -> tuple[Training | None, list[Any]]:
    """Return the bytes of saved tensors and gradients; None if nothing requires grad.

    The second value contains the nodes of the graph in order, to be freed with `let_go` of
    hookcli/hooks/attach/graph.py after the output.
    """
    saved = saved_tensors(root, batch, output)
    if saved is None:
        return None, []
    result = Training(sum(saved.sizes.values()), trainable_bytes(root))
    return result, in_order(saved.nodes)


def lacks_workspace(nodes: list[Any]) -> bool:
    """Whether operators among these nodes save a workspace that their fake kernels do not make."""
    kernels = ("MkldnnRnn", "CudnnRnn", "MiopenRnn")
    return any(type(node).__name__.startswith(kernels) for node in nodes)
