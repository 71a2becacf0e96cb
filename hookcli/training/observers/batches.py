"""Which batches of a DataLoader a script uses, and values that are not finite in them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import SequentialSampler

from hookcli.models import places
from hookcli.models.nested import argument_leaves
from hookcli.torch_private import disable_current_modes
from hookcli.training.norms import local
from hookcli.training.observers.observer import Observer
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall

_MOST = 1 << 16  # elements of a batch that are read in each step
_READ = 64  # of them that are compared
_LEAST = 10  # steps
_LOADERS = 64


@dataclass(slots=True)
class _Loader:
    """A DataLoader, and how often it was iterated over."""

    place: str | None
    batches: int
    iterations: int = 0
    since: int = 0  # steps before its first iteration


@dataclass(slots=True)
class _Batches:
    """The batches of one optimizer: whether all of them were the same so far."""

    first: tuple[Any, ...] | None = None
    steps: int = 0
    is_same: bool = True
    record: Record | None = field(default=None)


class Batches(Observer):
    """Finds a DataLoader of which only the first batch is used."""

    kinds = ("first_batch_only",)
    after = {"iterate": "iterated"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._loaders: weakref.WeakKeyDictionary[Any, _Loader] = weakref.WeakKeyDictionary()
        self._kept: list[_Loader] = []
        self._batches: dict[int, _Batches] = {}

    def iterated(self, call: TorchCall) -> None:
        """Count the iterations over a loader that gives its batches in the same order each time."""
        loader = call.argument(0, "self")
        known = self._loaders.get(loader)
        if known is None:
            if len(self._kept) >= _LOADERS or type(loader.sampler) is not SequentialSampler:
                return
            known = _Loader(places.of_frame(call.frame), len(loader))
            self._loaders[loader] = known
            self._kept.append(known)
        known.iterations += 1
        self.facts.look("first_batch_only")

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Compare the batch of a step with that of the first one."""
        if not self._kept:
            return
        known = self._batches.setdefault(self.seen.key_of(optimizer), _Batches())
        known.steps += 1
        if not known.is_same:
            return
        for record in records:
            known.record = known.record or record
            if not record.root.recent:
                known.is_same = False
                return
            run = record.root.recent[-1]  # those before it may be of a validation with gradients
            now = _fingerprint(run.args, run.kwargs)
            if now is None or (known.first is not None and now != known.first):
                known.is_same = False
                return
            known.first = now
            return
        known.is_same = False

    def finish(self) -> None:
        """Add the loaders that began again in each step, all of which had the same batch."""
        for known in self._batches.values():
            if not known.is_same or known.steps < _LEAST or known.first is None:
                continue
            for loader in self._kept:
                if loader.batches > 1 and loader.iterations >= known.steps:
                    self.facts.add(
                        "first_batch_only",
                        "",
                        loader.place,
                        record=known.record,
                        batches=loader.batches,
                        iterations=loader.iterations,
                        steps=known.steps,
                    )


def _fingerprint(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return some values of a batch; None if it has no tensor on the CPU, or too much in them."""
    found: list[Any] = []
    with torch.no_grad(), disable_current_modes():
        for _, tensor, _ in argument_leaves(args, kwargs):
            value = local(tensor.detach())
            if (
                value.device.type != "cpu"
                or value.layout is not torch.strided
                or value.is_complex()
            ):
                return None
            flat = value.reshape(-1)
            if flat.numel() > _MOST:
                flat = flat[:_MOST]
            found.append((tuple(value.shape), flat[:: max(1, flat.numel() // _READ)].tolist()))
    return tuple(found) if found else None
