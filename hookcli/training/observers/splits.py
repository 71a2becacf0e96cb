"""Samples that a script trains on and that its validation or test loader has too."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from torch.utils.data import Subset

from hookcli.models import places
from hookcli.training.observers.observer import Observer, variable_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_MOST = 1 << 21  # samples of a data set
_HELD_OUT = re.compile(r"val|test|dev|eval|hold|held")


class Splits(Observer):
    """Compares the samples of a loader without steps with those of the last one with steps."""

    kinds = ("overlapping_split",)
    after = {"iterate": "iterated"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._last: weakref.ref[Any] | None = None  # the loader that was iterated over last
        self._trained: weakref.ref[Any] | None = None  # the last one that steps followed
        self._names: weakref.WeakKeyDictionary[Any, tuple[str, str | None]]
        self._names = weakref.WeakKeyDictionary()
        self._compared: set[tuple[int, int]] = set()

    def iterated(self, call: TorchCall) -> None:
        """Compare the samples of the loader before with those of the last training."""
        self._compare()
        loader, frame = call.argument(0, "self"), user_frame(call.frame)
        self._last = weakref.ref(loader)
        if loader not in self._names:
            self._names[loader] = variable_of(loader, frame) or "", places.of_frame(frame)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note that the loader that runs is one of the training."""
        self._trained = self._last

    def finish(self) -> None:
        """Compare the last loader."""
        self._compare()

    def _compare(self) -> None:
        trained, other = (None if r is None else r() for r in (self._trained, self._last))
        if trained is None or other is None or trained is other:
            return
        pair = id(trained), id(other)
        name, place = self._names.get(other, ("", None))
        if pair in self._compared or not _HELD_OUT.search(name.lower()):
            return
        self._compared.add(pair)
        self.facts.look(*self.kinds)
        if _whole(trained.dataset) is not _whole(other.dataset):
            return
        ours, theirs = _samples_of(trained), _samples_of(other)
        if ours is None or theirs is None:
            return
        both = len(ours & theirs)
        if both:
            own = self._names.get(trained, ("", None))[0]
            self.facts.add("overlapping_split", name, place, of=own, samples=both, all=len(theirs))


def _whole(data: Any) -> Any:
    """Return the data set of which another one is a subset."""
    while type(data) is Subset:
        data = data.dataset
    return data


def _samples_of(loader: Any) -> set[int] | None:
    """Return the numbers of a loader's samples in the whole data set; None if not known."""
    data, sampler = loader.dataset, getattr(loader, "sampler", None)
    chosen = getattr(sampler, "indices", None)  # of SubsetRandomSampler
    numbers = _as_numbers(chosen if chosen is not None else _range_of(data))
    while type(data) is Subset and numbers is not None:
        outer = list(data.indices)
        numbers = {int(outer[i]) for i in numbers if 0 <= i < len(outer)}
        data = data.dataset
    return numbers


def _range_of(data: Any) -> Iterable[int] | None:
    try:
        size = len(data)
    except TypeError:  # an iterable data set
        return None
    return range(size) if size <= _MOST else None


def _as_numbers(values: Iterable[Any] | None) -> set[int] | None:
    return None if values is None else {int(value) for value in values}
