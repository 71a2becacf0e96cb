"""Finds tensors that the user's hook keeps alive after the run."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.models.bits import storage_of
from hookcli.models.nested import leaves
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import HookSpec

_MOST = 512  # storages that are tracked for one hook


@dataclass(frozen=True, slots=True)
class _Entry:
    storage: Any
    size: int
    target: str


class Retention:
    """Weak references to the storages of the tensors that a hook was given."""

    def __init__(self) -> None:
        self._seen: dict[int, _Entry] = {}

    def note(self, value: Any, target: str) -> None:
        """Track the tensors of a value that the hook was given."""
        for _, tensor, _ in leaves(value):
            storage = storage_of(tensor)
            if storage is not None and storage.nbytes() and len(self._seen) < _MOST:
                reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
                self._seen.setdefault(storage._cdata, _Entry(reference, storage.nbytes(), target))

    def alive(self, others: Iterable[torch.Tensor]) -> tuple[int, int, str] | None:
        """Return (count, bytes, first target) of storages that are still alive; None if none is.

        The storages of `others`, tensors of the model and the run, do not count.
        """
        if not self._seen:
            return None
        known = {storage._cdata for t in others if (storage := storage_of(t)) is not None}
        left = self._left(known)
        if left:
            gc.collect()  # cycles may hold them
            left = self._left(known)
        if not left:
            return None
        return len(left), sum(entry.size for entry in left), left[0].target

    def _left(self, known: set[int]) -> list[_Entry]:
        """Return the storages that exist, without those that are `known`."""
        entries = self._seen.items()
        return [one for key, one in entries if key not in known and not one.storage.expired()]


def kept_alive(
    spec: HookSpec, retention: Retention, others: list[torch.Tensor]
) -> HookFinding | None:
    """Return the finding about a hook that keeps tensors alive; `others` may be alive."""
    retained = retention.alive(others)
    if retained is None:
        return None
    count, size, target = retained
    what = "a tensor" if count == 1 else f"{count} tensors"
    message = (
        f"the hook keeps {what} alive after the run ({size / 1e6:.3g} MB): keep numbers or "
        "detached clones of small tensors instead"
    )
    problem = f"{spec.kind} keeps tensors"
    return HookFinding("hook_misuse", target, problem, message, spec.place, "warning")
