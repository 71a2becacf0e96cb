"""Gradients that a script sets to zero between backward and the step, which moves the values."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall

_MOST = 1 << 20  # rows of a gradient that is read
_COLUMNS = 4  # that are read of each row
_ROWS = 64  # whose values are kept
_LEAST = 3  # looks


@dataclass(slots=True)
class _Masked:
    """The rows of a parameter whose gradient was set to zero before a step.

    `masked` are those of any look, `left` those that had a gradient in a step, and `moved` those
    that a step changed although they had none. `numbers` and `values` are some rows that the next
    step must not change.
    """

    parameter: weakref.ref[torch.Tensor]
    masked: torch.Tensor
    left: torch.Tensor
    moved: torch.Tensor
    record: Record | None
    name: str
    optimizer: str
    decay: float
    place: str | None
    looks: int = 0
    numbers: torch.Tensor | None = None
    values: torch.Tensor | None = None

    def note(self, was: torch.Tensor, now: torch.Tensor) -> None:
        """Note the rows that had a gradient after backward, and those that have one at the step."""
        parameter = self.parameter()
        without = was & ~now
        self.masked |= without
        self.left |= now
        self.looks += 1
        if parameter is not None:
            self.numbers = without.nonzero()[:_ROWS, 0]
            self.values = _rows(parameter)[self.numbers].clone()

    def compare(self) -> None:
        """Note which of the rows the step has changed."""
        parameter, numbers, values = self.parameter(), self.numbers, self.values
        self.numbers = self.values = None
        if parameter is not None and numbers is not None and values is not None:
            self.moved[numbers] |= (_rows(parameter)[numbers] != values).any(1)

    def found(self) -> torch.Tensor:
        """Return the numbers of the rows that never had a gradient in a step, and moved.

        There are none if other rows are set to zero each time.
        """
        always = self.masked & ~self.left
        if 2 * int(always.sum()) <= int(self.masked.sum()):
            return always.new_empty(0, dtype=torch.int64)
        return (always & self.moved).nonzero()[:, 0]


class MaskedGradients(Observer):
    """Compares the rows without a gradient after backward, and when the optimizer steps."""

    kinds = ("masked_gradient",)
    before = {"backward": "begins", "zero_grad": "erased", "module_zero_grad": "erased"}  # noqa: RUF012
    after = {"backward": "ended"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._is_due = False
        self._graded: dict[int, torch.Tensor] = {}  # by the ids of parameters: rows with gradients
        self._place: str | None = None
        self._masked: dict[int, _Masked] = {}

    def begins(self, call: TorchCall) -> None:
        """Look at what the last step moved."""
        if self._masked:
            with torch.no_grad(), disable_current_modes():
                for known in self._masked.values():
                    known.compare()
        self._is_due = self._schedule.is_due(line_of(call))
        self._graded.clear()

    def erased(self, call: TorchCall) -> None:
        """Forget gradients, as they are erased."""
        self._graded.clear()

    def ended(self, call: TorchCall) -> None:
        """Note the rows that have a gradient."""
        if not self._is_due:
            return
        self._is_due = False
        line = line_of(call)
        self._place = None if line is None else f"{places.show(line[0])}:{line[1]}"
        with torch.no_grad(), disable_current_modes():
            for optimizer in self.seen.optimizers.values():
                for p in parameters_of(optimizer):
                    rows = _left(p)
                    if rows is not None and bool(rows.any()):
                        self._graded[id(p)] = rows

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note the rows whose gradient was set to zero since then."""
        if not self._graded:
            return
        self.facts.look(*self.kinds)
        given = [
            (p, group)
            for group in optimizer.param_groups
            for p in group["params"]
            if id(p) in self._graded
        ]
        with torch.no_grad(), disable_current_modes():
            left = [(p, group, _left(p)) for p, group in given]
            if not any(rows is None or bool(rows.any()) for *_, rows in left):
                return  # all gradients were erased
            for p, group, now in left:
                was = self._graded.pop(id(p))
                known = self._masked.get(id(p))
                if now is None or now.shape != was.shape:
                    continue
                if known is None and bool((was & ~now).any()):
                    known = self._masked[id(p)] = self._new(p, was, group, optimizer, records)
                if known is not None and known.parameter() is p:
                    known.note(was, now)

    def _new(
        self,
        p: torch.Tensor,
        rows: torch.Tensor,
        group: dict[str, Any],
        optimizer: Any,
        records: Sequence[Record],
    ) -> _Masked:
        record = next((one for one in records if any(p is own for own in one.own)), None)
        return _Masked(
            weakref.ref(p),
            torch.zeros_like(rows),
            torch.zeros_like(rows),
            torch.zeros_like(rows),
            record,
            "" if record is None else record.root.names().get(id(p), ""),
            type(optimizer).__name__,
            float(group.get("weight_decay") or 0),
            self._place,
        )

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Add what is known of the parameters of a root, and forget them."""
        ids = root.parameter_ids()
        self._add_found([self._masked.pop(key) for key in ids & self._masked.keys()])

    def finish(self) -> None:
        """Add the parameters with rows that moved."""
        self._add_found(self._masked.values())

    def _add_found(self, parameters: Iterable[_Masked]) -> None:
        for known in parameters:
            rows = known.found()
            if known.looks >= _LEAST and len(rows) and known.name:
                self.facts.add(
                    "masked_gradient",
                    known.name,
                    known.place,
                    record=known.record,
                    rows=len(rows),
                    first=int(rows[0]),
                    of=len(known.masked),
                    optimizer=known.optimizer,
                    weight_decay=known.decay,
                )


def _is_read(gradient: torch.Tensor) -> bool:
    return (
        type(gradient) is torch.Tensor
        and gradient.layout is torch.strided
        and not gradient.is_meta
        and gradient.numel() > 0
        and _count(gradient) <= _MOST
    )


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """Return some columns of a tensor that is taken as a matrix."""
    rows = tensor.detach().reshape(_count(tensor), -1)
    return rows[:, :: max(1, rows.shape[1] // _COLUMNS)]


def _count(tensor: torch.Tensor) -> int:
    return tensor.shape[0] if tensor.dim() else 1


def _left(p: torch.Tensor) -> torch.Tensor | None:
    """Return the rows that have a gradient; None if it was removed or cannot be read."""
    gradient = p.grad
    if gradient is None or not _is_read(gradient):
        return None
    return (_rows(gradient) != 0).any(1)
