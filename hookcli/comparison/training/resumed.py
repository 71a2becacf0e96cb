"""Whether one training goes on from a checkpoint of the other, and what of its state was lost.

Both have fingerprints of their state: one where it was saved, the other where it started. Weights
that are equal to the last bit tell that they are the same point of the training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hookcli.comparison.training.parting import SideNames
from hookcli.comparison.training.training_diff import LostItem, ResumeDiff
from hookcli.report.training import TrainingReport, TrainingState
from hookcli.text import join_names

_LEAST = 0.5  # of the weights, that must have been loaded
_DIGEST = 12  # letters of a fingerprint, which is not shown
_SHOWN = 3
_RANDOM, _ORDER = "random state", "data order"
# The state of the optimizer and what scales the loss, in the order in which they are named.
_CERTAIN = (
    "optimizer moments", "step count", "scheduler", "optimizer settings", "scaler",
)  # fmt: skip
_ADVICE = {
    "weights": "load all keys of the model's state: see what `load_state_dict` returns",
    "optimizer moments": "save `optimizer.state_dict()`, and load it after the optimizer is made",
    "step count": "save `optimizer.state_dict()` whole, and load it after the optimizer is made",
    "scheduler": "save `scheduler.state_dict()`, and load it after the scheduler is made",
    "optimizer settings": "construct the optimizer with the same settings, or load its state",
    "scaler": "save `scaler.state_dict()`, and load it before the first step",
    _RANDOM: "save the states of the generators, such as `torch.get_rng_state()`, and set them",
    _ORDER: "save how far the epoch was, and the seed or generator of the sampler",
    "buffers": "save the buffers too: `model.state_dict()` has those that are persistent",
}


@dataclass(frozen=True, slots=True)
class Resumed:
    """One side goes on from the other: the states where that is, and the numbers of the steps."""

    side: Literal["a", "b"]
    saved: TrainingState
    start: TrainingState
    first: TrainingState  # the start of the training that was saved

    @property
    def offset(self) -> int:
        """What is added to the steps of the side that goes on."""
        return self.saved.step - self.start.step


def find_resumed(
    a: TrainingReport, b: TrainingReport, names: tuple[str | None, str | None]
) -> Resumed | None:
    """Return where one of two records goes on from the other; None if none does, or it is unknown.

    `names` are those of the records in A and B.
    """
    ours, theirs = _of_record(a, names[0]), _of_record(b, names[1])
    found = _resumed("b", ours, theirs)
    return _resumed("a", theirs, ours) if found is None else found


def _of_record(report: TrainingReport, name: str | None) -> list[TrainingState]:
    return [state for state in report.states or () if state.record == name]


def _resumed(
    side: Literal["a", "b"], full: list[TrainingState], rest: list[TrainingState]
) -> Resumed | None:
    start = next((state for state in rest if state.after == "start"), None)
    first = next((state for state in full if state.after == "start"), None)
    if start is None or not start.groups.get("weights"):
        return None
    candidates = [state for state in full if state.after == "save" and state.step > start.step]
    if first is None or not candidates:
        return None
    best = max(candidates, key=lambda state: (_share(state, start, first), _alike(state, start)))
    share = _share(best, start, first)
    if share == 1.0 or (start.loads and share >= _LEAST):
        return Resumed(side, best, start, first)
    return None


def _share(saved: TrainingState, start: TrainingState, first: TrainingState) -> float:
    """Return the share of the weights that are equal, of those that had been trained by then."""
    ours, theirs, before = (one.groups.get("weights", {}) for one in (saved, start, first))
    names = [name for name in ours if ours[name] != before.get(name)]
    if ours.keys() != theirs.keys():
        return 0.0
    return sum(ours[name] == theirs[name] for name in names) / max(1, len(names))


def _alike(a: TrainingState, b: TrainingState) -> int:
    return sum(a.groups.get(name) == b.groups.get(name) for name in _CERTAIN)


def resume_diff(found: Resumed, record: str, names: SideNames, *, has_parted: bool) -> ResumeDiff:
    """Return which group of the state was not restored first, if one was not.

    What the random state and the order of the data are is known only roughly: they are named if the
    figures of the steps or the batches differ.
    """
    saved, start = found.saved, found.start
    group, items = next(iter(_lost(found, has_parted=has_parted)), (None, ()))
    if found.side == "a":
        items = tuple(LostItem(item.name, item.b, item.a) for item in items)
    checked = [
        name for name in _ADVICE if saved.groups.get(name) or start.groups.get(name)
    ]  # in their order
    whole, rest = (names.a, names.b) if found.side == "b" else (names.b, names.a)
    at = f"{rest} goes on from step {saved.step:,} of {whole}"
    if group is None:
        sentence = f"{at}: {join_names(checked)} were restored"
        if has_parted:
            sentence = f"{at}: no group is known that was not restored"
    else:
        sentence = f"{at}, but the {group} was not restored{_which(items, names)}"
        if group.endswith("s"):
            sentence = sentence.replace(" was not", " were not")
    return ResumeDiff(
        record=record,
        resumed=found.side,
        step=saved.step,
        start=start.step,
        place=saved.place,
        compared=tuple(checked),
        lost=group,
        items=items,
        sentence=sentence,
        advice=None if group is None else _ADVICE[group],
    )


def _which(items: Iterable[LostItem], names: SideNames) -> str:
    """Return the first items of a group, with their values if these are short."""
    shown = [
        item.name
        if any(value is None or len(value) == _DIGEST for value in (item.a, item.b))
        else f"{item.name} is {item.a} in {names.a} and {item.b} in {names.b}"
        for item in items
    ]
    if not shown:
        return ""
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f" ({', '.join(shown[:_SHOWN])}{more})"


def _lost(found: Resumed, *, has_parted: bool) -> Iterator[tuple[str, tuple[LostItem, ...]]]:
    """Yield the groups that were not restored, in their order."""
    saved, start = found.saved.groups, found.start.groups
    for name in ("weights", *_CERTAIN):
        ours, theirs = saved.get(name, {}), start.get(name, {})
        # A training that has no scheduler or scaler at all may do without.
        both = ours.keys() & theirs.keys() if name == "optimizer settings" else ours.keys()
        if items := _different(ours, theirs, both):
            yield name, items
    batches = _different(saved.get(_ORDER, {}), start.get(_ORDER, {}), {"batch"})
    is_known = bool(saved.get(_ORDER) and start.get(_ORDER))
    if has_parted or (batches and is_known):
        random = _random(found)
        if random and (batches or not is_known or has_parted):
            yield _RANDOM, random
        if batches and is_known:
            yield _ORDER, batches
    if is_known and not batches:
        ours, theirs = saved.get("buffers", {}), start.get("buffers", {})
        if items := _different(ours, theirs, ours.keys() & theirs.keys()):
            yield "buffers", items


def _random(found: Resumed) -> tuple[LostItem, ...]:
    """Return the generators whose state differs, of those that the whole training draws from."""
    saved, start = found.saved.groups.get(_RANDOM, {}), found.start.groups.get(_RANDOM, {})
    before = found.first.groups.get(_RANDOM, {})
    drawn = {name for name, state in saved.items() if before.get(name) != state}
    if set(found.saved.chances) & set(found.start.chances):
        drawn.discard("torch")
    return _different(saved, start, drawn)


def _different(
    ours: Mapping[str, str], theirs: Mapping[str, str], names: Iterable[str]
) -> tuple[LostItem, ...]:
    return tuple(
        LostItem(name, ours.get(name), theirs.get(name))
        for name in ours
        if name in set(names) and ours.get(name) != theirs.get(name)
    )
