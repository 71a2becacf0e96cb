"""Finds the line that changes in place a tensor that backward needs, after such a backward failed.

The forward runs again. Each tensor that autograd saves is noted with its storage, and each call
that raises the version of a tensor. The first one on the storage of a saved tensor, after it was
saved, is the cause: PyTorch compares these versions in backward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode

from hookcli.engine.probes.rerun import Rerun
from hookcli.models import places
from hookcli.models.bits import storage_of
from hookcli.models.nested import argument_leaves
from hookcli.refusals import raise_if_external
from hookcli.report.recording import Failure

_CHANGED = "modified by an inplace operation"  # in the message of torch
_SHOWN = {
    "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=", "__ipow__": "**=",
    "__setitem__": "[…] =",
}  # fmt: skip
_SHAPE = re.compile(r"\[torch\.\w*Tensor \[(?P<shape>[\d, ]*)\]\]")


def is_changed_in_place(failure: Failure) -> bool:
    """Return whether a backward failed since a tensor was changed in place."""
    return failure.phase == "backward" and _CHANGED in failure.message


@dataclass(slots=True)
class _Change:
    """A call that changes a tensor in place: the name of its function, and its line."""

    name: str
    place: str | None


@dataclass(slots=True)
class _Saved:
    """A tensor that autograd has saved at a line, and what changes it first after that."""

    tensor: torch.Tensor  # keeps the storage: another one would get its address
    place: str | None
    change: _Change | None = None


@dataclass(slots=True)
class _Notes:
    """The saved tensors, by their storages."""

    saved: list[_Saved] = field(default_factory=list)
    by_storage: dict[int, list[_Saved]] = field(default_factory=dict)

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note a tensor that autograd saves."""
        storage = storage_of(tensor)
        if storage is not None:
            row = _Saved(tensor, places.of_caller())
            self.saved.append(row)
            self.by_storage.setdefault(storage._cdata, []).append(row)
        return tensor

    def changed(self, tensor: torch.Tensor, name: str) -> None:
        """Note a change of a tensor, for all that were saved before."""
        storage = storage_of(tensor)
        known = () if storage is None else self.by_storage.get(storage._cdata, ())
        rows = [row for row in known if row.change is None]
        if rows:
            change = _Change(name, places.of_caller())
            for row in rows:
                row.change = change


class _Changes(TorchFunctionMode):
    """Notes the calls after which a tensor among their arguments has another version."""

    def __init__(self, notes: _Notes) -> None:
        super().__init__()
        self._notes = notes

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function of PyTorch."""
        kwargs = kwargs or {}
        given = [tensor for _, tensor, _ in argument_leaves(tuple(args), kwargs)]
        before = [(one, one._version) for one in given if not one.is_inference()]
        result = func(*args, **kwargs)
        for tensor, version in before:
            if tensor._version != version:
                self._notes.changed(tensor, getattr(func, "__name__", "a function"))
        return result


@contextmanager
def _noted(notes: _Notes) -> Iterator[None]:
    with saved_tensors_hooks(notes.keep, lambda tensor: tensor), _Changes(notes):
        yield


def with_cause(failure: Failure, again: Rerun) -> Failure:
    """Return the failure with the line that changed the tensor, if a second forward shows it."""
    notes = _Notes()
    try:
        with again.running(again.plan.mode, within=_noted(notes)) as output:
            again.loss(output)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
    row = _of(notes, failure)
    if row is None or row.change is None or row.change.place is None:
        return failure
    of = "another line" if row.place is None else row.place
    of = "the same line" if row.place == row.change.place else of
    what = _SHOWN.get(row.change.name, row.change.name)
    return replace(
        failure,
        place=row.change.place,
        hint=f"`{what}` here changes a tensor that the backward of {of} needs: use an operation "
        "that is not in place, or a copy",
    )


def _of(notes: _Notes, failure: Failure) -> _Saved | None:
    """Return the saved tensor of the failure: of its line and shape, as far as these are known."""
    rows = [row for row in notes.saved if row.change is not None]
    found = _SHAPE.search(failure.message)
    if found is not None:
        shape = [int(size) for size in found["shape"].split(",") if size.strip()]
        rows = [row for row in rows if list(row.tensor.shape) == shape] or rows
    rows = [row for row in rows if row.place == failure.place] or rows
    changes = {(row.change.name, row.change.place) for row in rows if row.change is not None}
    return rows[-1] if len(changes) == 1 else None
