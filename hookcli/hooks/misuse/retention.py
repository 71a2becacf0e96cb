"""Whether a hook of the user's keeps what it was given alive after the run."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.models.bits import storage_of
from hookcli.models.nested import leaves

_MOST = 512  # storages looked after for one hook


@dataclass(frozen=True, slots=True)
class _Held:
    storage: Any
    size: int
    target: str


class Retention:
    """Weak references to the storages that a hook saw."""

    def __init__(self) -> None:
        self._seen: dict[int, _Held] = {}

    def note(self, value: Any, target: str) -> None:
        """The hook was given this."""
        for _, tensor, _ in leaves(value):
            storage = storage_of(tensor)
            if storage is not None and storage.nbytes() and len(self._seen) < _MOST:
                reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
                self._seen.setdefault(storage._cdata, _Held(reference, storage.nbytes(), target))

    def alive(self, others: Iterable[torch.Tensor]) -> tuple[int, int, str] | None:
        """(count, bytes, a target) of what is still there, the model's and the run's own aside."""
        if not self._seen:
            return None
        known = {storage._cdata for t in others if (storage := storage_of(t)) is not None}
        gc.collect()
        left = [
            held
            for key, held in self._seen.items()
            if key not in known and not held.storage.expired()
        ]
        if not left:
            return None
        return len(left), sum(held.size for held in left), left[0].target
