"""Samples that a script trains on and that its validation or test loader has too.

A validation may also go over the loader of the training, while its own one is never used.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch.utils.data import DataLoader, Subset

from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.training.observers.observer import Observer, variable_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_MOST = 1 << 21  # samples of a data set
_DEEPEST = 8  # functions that run, from the innermost
_HELD_OUT = re.compile(r"val|test|dev|eval|hold|held")


class Splits(Observer):
    """Compares the samples of a loader without steps with those of the last one with steps."""

    kinds = ("overlapping_split", "unused_split")
    after = {"iterate": "iterated"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._last: weakref.ref[Any] | None = None  # the loader that was iterated over last
        self._trained: weakref.ref[Any] | None = None  # the last one that steps followed
        self._names: weakref.WeakKeyDictionary[Any, tuple[str, str | None]]
        self._names = weakref.WeakKeyDictionary()
        self._compared: set[tuple[int, int]] = set()
        self._iterated: set[int] = set()  # ids of loaders
        self._held_out: _HeldOut | None = None  # the loader of the training under another name

    def iterated(self, call: TorchCall) -> None:
        """Compare the samples of the loader before with those of the last training."""
        self._compare()
        loader, frame = call.argument(0, "self"), user_frame(call.frame)
        self._last = weakref.ref(loader)
        self._iterated.add(id(loader))
        if loader not in self._names:
            self._names[loader] = variable_of(loader, frame) or "", places.of_frame(frame)
        elif self._held_out is None and self._trained is not None and self._trained() is loader:
            # The name that the function itself has for it.
            own = {} if frame is None else variables_of(frame)
            name = next((name for name, value in own.items() if value is loader), "")
            if _HELD_OUT.search(name.lower()) and name != self._names[loader][0]:
                self._held_out = _HeldOut(
                    name, _caller_place(frame), self._names[loader][0], _other_loaders(frame)
                )

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note that the loader that runs is one of the training."""
        self._trained = self._last

    def finish(self) -> None:
        """Compare the last loader, and look for one that was never used."""
        self._compare()
        known = self._held_out
        for name, number in () if known is None else known.others:
            if known is not None and number not in self._iterated:
                self.facts.add("unused_split", name, known.place, of=known.of, called=known.name)
                return

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


@dataclass(frozen=True)
class _HeldOut:
    """An iteration over the loader of the training, under a name of held-out data.

    `of` is its name in the training. `others` are loaders of held-out data that the functions which
    run have: their names and ids.
    """

    name: str
    place: str | None
    of: str
    others: list[tuple[str, int]]


def _caller_place(frame: FrameType | None) -> str | None:
    """Return the line that calls the function of a frame."""
    outer = user_frame(None if frame is None else frame.f_back)
    return places.of_frame(outer or frame)


def _other_loaders(frame: FrameType | None) -> list[tuple[str, int]]:
    """Return the loaders of held-out data among the variables of the functions that run."""
    found: list[tuple[str, int]] = []
    for _ in range(_DEEPEST):
        if frame is None:
            break
        found += [
            (name, id(value))
            for name, value in list(variables_of(frame).items())
            if _HELD_OUT.search(name.lower()) and isinstance(value, DataLoader)
        ]
        frame = frame.f_back
    return found


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
