"""Digests of a rank's parameters before and after each step, cheap enough for all steps.

The digest of a parameter is the sum of its bits, read as integers of 64 bits, which wraps around:
any change of one element changes it, and values that only change places have the same. Before a
step, all elements of each parameter are read, or of a large one a part, in turn. After it only some
elements of some parameters are: an update that differs changes nearly all, and what it left shows
before the next step.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn import Parameter

from hookcli.report.distributed import StepDigests
from hookcli.torch_private import count_dispatch_modes, disable_current_modes
from hookcli.training.norms import local

_PART = 1 << 14  # elements of a parameter that are read before a step
_SOME, _FEW = 64, 2  # elements of about so many parameters, which are read after a step
_MOST_STEPS = 20_000  # steps with digests of all parameters
_MOST_EACH = 1 << 17  # digests of single parameters: 1 MB of JSON
_PENDING = 100  # moments whose digests are on a GPU
_ALL = (1 << 64) - 1
_MIX = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: both halves reach the upper one
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32}
_UNKNOWN = "-" * 8


class DigestKeeper:
    """The digests of the parameters of one record, by moment: see `StepDigests`."""

    def __init__(self) -> None:
        self._bits: dict[int, Bits] = {}  # of parameters, by their ids
        self._moments: dict[int, str] = {}
        self._each: dict[int, array[int]] = {}
        self._pending: dict[int, tuple[list[int], torch.Tensor]] = {}
        self._every = self._every_each = 1

    def note(self, moment: int, parameters: Sequence[torch.Tensor]) -> None:
        """Note the parameters at a moment."""
        if not count_dispatch_modes():
            self._note(moment, parameters)
            return
        with disable_current_modes():
            self._note(moment, parameters)

    def _note(self, moment: int, parameters: Sequence[torch.Tensor]) -> None:
        step, after = divmod(moment, 2)
        if after:
            parameters = parameters[:: max(1, len(parameters) // _FEW)]
        known = [self._bits_of(parameter) for parameter in parameters]
        sums = [bits.some() if after else bits.sum(step) for bits in known]
        order = [bits.place for bits, one in zip(known, sums, strict=True) if one is not None]
        stacked = _together([one for one in sums if one is not None])
        if stacked is None or stacked.is_cpu:
            self._keep(moment, order, [] if stacked is None else stacked.tolist())
            return
        self._pending[moment] = order, stacked
        if len(self._pending) >= _PENDING:
            self._read()

    def _bits_of(self, parameter: torch.Tensor) -> Bits:
        value = parameter if type(parameter) is Parameter else local(parameter)
        known = self._bits.get(id(parameter))
        if known is None or known.pointer != value.data_ptr():
            place = len(self._bits) if known is None else known.place
            known = self._bits[id(parameter)] = Bits(value, place)
        return known

    def _read(self) -> None:
        pending, self._pending = self._pending, {}
        for moment, (order, sums) in pending.items():
            self._keep(moment, order, sums.tolist())

    def _keep(self, moment: int, order: list[int], sums: Sequence[Any]) -> None:
        row = array("q", bytes(8 * len(self._bits)))
        for place, value in zip(order, sums, strict=True):
            row[place] = value
        self._moments[moment] = hashlib.blake2b(row, digest_size=6).hexdigest()
        self._each[moment] = row
        while len(self._moments) > 2 * _MOST_STEPS:
            self._every *= 2
            self._moments = _thinned(self._moments, self._every)
        while len(self._each) > 2 and len(self._each) * len(row) > _MOST_EACH:
            self._every_each *= 2
            self._each = _thinned(self._each, self._every_each)

    def rows(self, names: Mapping[int, str], unused: int) -> StepDigests | None:
        """Return the digests as plain data, with the names of parameters by their ids."""
        self._read()
        if not self._moments:
            return None
        return StepDigests(
            names=tuple(names.get(key, "") for key in self._bits),
            turns=tuple(bits.turns for bits in self._bits.values()),
            moments=dict(self._moments),
            each={moment: self._text(row) for moment, row in self._each.items()},
            unused=unused,
        )

    def _text(self, row: array[int]) -> str:
        known = "".join(_short(value) if value else _UNKNOWN for value in row)
        return known + _UNKNOWN * (len(self._bits) - len(row))


def _thinned(rows: dict[int, Any], every: int) -> dict[int, Any]:
    last = next(reversed(rows))
    return {at: row for at, row in rows.items() if at // 2 % every == 0 or at == last}


def _short(value: int) -> str:
    return f"{((value * _MIX) & _ALL) >> 32:08x}"


def _together(sums: list[torch.Tensor]) -> torch.Tensor | None:
    """Return all sums in one tensor; None if there are none."""
    if not sums:
        return None
    device = sums[0].device
    if all(one.device == device for one in sums):
        return torch.stack(sums)
    return torch.stack([one.to(device) for one in sums])


class Bits:
    """The bits of a tensor as integers, which are views of its memory.

    None are there if the memory has gaps. They are made anew if the tensor gets other memory, whose
    address is `pointer`. `place` is that of the tensor among all, and `turns` the number of parts,
    of which each step reads one.
    """

    __slots__ = ("_parts", "_some", "place", "pointer", "turns")

    def __init__(self, value: torch.Tensor, place: int) -> None:
        self.place = place
        self.pointer = value.data_ptr() if value.layout is torch.strided else 0
        self._parts: list[list[torch.Tensor]] = []
        self._some: list[torch.Tensor] = []
        if self.pointer and not (value.is_meta or value.is_quantized):
            flat = _flat(value.detach())
            if flat is not None:
                self._parts = [_integers(part) for part in torch.split(flat, _PART)]
                self._some = _integers(flat[-_SOME:])
        self.turns = max(1, len(self._parts))

    def sum(self, step: int) -> torch.Tensor | None:
        """Return the sum of the bits whose turn it is; None if there are none."""
        return _sum(self._parts[step % self.turns]) if self._parts else None

    def some(self) -> torch.Tensor | None:
        """Return the sum of the bits of some elements."""
        return _sum(self._some) if self._some else None


def _sum(views: Sequence[torch.Tensor]) -> torch.Tensor:
    if len(views) == 1:
        return views[0].sum()
    return torch.stack([view.sum() for view in views]).sum()


def _flat(value: torch.Tensor) -> torch.Tensor | None:
    """Return a view of the elements in the order of the memory; None if that has gaps."""
    if not value.is_contiguous():
        order = sorted(range(value.dim()), key=value.stride, reverse=True)
        value = value.permute(order)
    return value.view(-1) if value.is_contiguous() else None


def _integers(flat: torch.Tensor) -> list[torch.Tensor]:
    """Return views of elements as integers: of 64 bits, and of what is left."""
    size = flat.element_size()
    if size >= 8:
        return [flat.view(torch.int64)]
    plain, each = _INTEGERS[size], 8 // size
    whole = flat.numel() // each * each
    if not whole or flat.storage_offset() % each:
        return [flat.view(plain)]
    rest = [flat[whole:].view(plain)] if whole < flat.numel() else []
    return [flat[:whole].view(torch.int64), *rest]
