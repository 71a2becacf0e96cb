"""The first batch of a loader: a DataLoader, a Dataset, an iterable or a generator."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from types import GeneratorType, ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from hookcli.models.nested import leaves
from hookcli.torch_private import WorkersIterator, shut_down_workers

_NO_LOADER = (
    torch.Tensor, torch.nn.Module, Mapping, Set, str, bytes, list, tuple, type, ModuleType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FirstBatch:
    """The first batch of a loader, or a value that is no loader. `loaded` tells which."""

    value: Any
    loaded: bool


def is_loader(value: Any) -> bool:
    """Return whether a value gives batches or samples, and is not a batch itself."""
    if isinstance(value, DataLoader | Dataset | Iterator):
        return True
    if isinstance(value, _NO_LOADER) or hasattr(value, "__array__"):
        return False
    kind = type(value)
    return hasattr(kind, "__iter__") or _is_sequence(kind)


def _is_sequence(kind: type) -> bool:
    """Return whether instances of a class have samples by number, as a Dataset has."""
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__")


def first_batch(value: Any, batch_size: int) -> FirstBatch:
    """Return the first batch of a loader; any other value as it is.

    A Dataset is collated as a DataLoader does, with `batch_size` samples and without shuffling.
    Nothing else is taken from a loader, and its worker processes are ended. Errors of the user's
    code are passed on; one that has no batch raises `StopIteration`.
    """
    if not is_loader(value):
        return FirstBatch(value, loaded=False)
    if isinstance(value, Dataset) and not isinstance(value, DataLoader):
        return FirstBatch(_first_of_dataset(value, batch_size), loaded=True)
    if hasattr(type(value), "__iter__"):
        item = _next(value)
        if _is_part(item, value):
            return FirstBatch(value, loaded=False)
        return FirstBatch(item, loaded=True)
    return FirstBatch(_collated(value, batch_size), loaded=True)


def _first_of_dataset(dataset: Any, batch_size: int) -> Any:
    if isinstance(dataset, IterableDataset):
        return _next(DataLoader(dataset, batch_size=batch_size))
    return _collated(dataset, batch_size)


def _collated(dataset: Any, batch_size: int) -> Any:
    size = len(dataset) if hasattr(type(dataset), "__len__") else batch_size
    if not size:
        raise StopIteration
    return default_collate([dataset[i] for i in range(min(size, batch_size))])


def _next(loader: Any) -> Any:
    if isinstance(loader, DataLoader) and loader.num_workers:
        loader = copy.copy(loader)
        loader._iterator = None  # persistent workers stay those of the user's own loop
    iterator = iter(loader)
    try:
        return next(iterator)
    finally:
        if isinstance(iterator, WorkersIterator):
            shut_down_workers(iterator)
        elif isinstance(iterator, GeneratorType):
            iterator.close()


def _is_part(item: Any, value: Any) -> bool:
    """Return whether a value is a batch whose iteration yields its own parts.

    Those are names, pairs of names and values, or tensors that it stores.
    """
    if isinstance(value, DataLoader):
        return False
    if isinstance(item, str) or (isinstance(item, tuple) and item and isinstance(item[0], str)):
        return True
    return isinstance(item, torch.Tensor) and any(item is tensor for _, tensor, _ in leaves(value))
