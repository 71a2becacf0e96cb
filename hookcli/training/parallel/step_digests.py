"""Digests of a rank's parameters before and after each step, cheap enough for all steps.

The digest of a parameter is the sum of its bits, read as integers of 64 bits, which wraps around:
it is read once, at the speed of the memory, and any change of one element changes it. Values that
only change places have the same sum.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hookcli.report.distributed import StepDigests
from hookcli.training.norms import local, outside_modes

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
        self._places: dict[int, int] = {}  # of parameters, by their ids
        self._moments: dict[int, str] = {}
        self._each: dict[int, array[int]] = {}
        self._pending: dict[int, tuple[list[int], torch.Tensor]] = {}
        self._every = self._every_each = 1

    def note(self, moment: int, parameters: Sequence[torch.Tensor]) -> None:
        """Note the parameters at a moment."""
        places = self._places
        order = [places.setdefault(id(p), len(places)) for p in parameters]
        with torch.no_grad(), outside_modes():
            sums = [bit_sum(p) for p in parameters]
            on_device = [one for one in sums if isinstance(one, torch.Tensor)]
            if not on_device:
                self._keep(moment, order, sums)
                return
            first = on_device[0].device
            wait = [
                one.to(first) if isinstance(one, torch.Tensor) else torch.tensor(_signed(one))
                for one in sums
            ]
            stacked = torch.stack([one.to(first) for one in wait])
        self._pending[moment] = order, stacked
        if len(self._pending) >= _PENDING:
            self._read()

    def _read(self) -> None:
        pending, self._pending = self._pending, {}
        for moment, (order, sums) in pending.items():
            self._keep(moment, order, sums.tolist())

    def _keep(self, moment: int, order: list[int], sums: Sequence[Any]) -> None:
        row = array("Q", bytes(8 * len(self._places)))
        for place, value in zip(order, sums, strict=True):
            row[place] = (value & _ALL) or _ALL  # 0: not known
        self._moments[moment] = hashlib.blake2b(row.tobytes(), digest_size=6).hexdigest()
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
            names=tuple(names.get(key, "") for key in self._places),
            moments=dict(self._moments),
            each={moment: self._text(row) for moment, row in self._each.items()},
            unused=unused,
        )

    def _text(self, row: array[int]) -> str:
        known = "".join(_short(value) if value else _UNKNOWN for value in row)
        return known + _UNKNOWN * (len(self._places) - len(row))


def _thinned(rows: dict[int, Any], every: int) -> dict[int, Any]:
    last = next(reversed(rows))
    return {at: row for at, row in rows.items() if at // 2 % every == 0 or at == last}


def _short(value: int) -> str:
    return f"{((value * _MIX) & _ALL) >> 32:08x}"


def _signed(value: int) -> int:
    value &= _ALL
    return value - (1 << 64) if value >> 63 else value


def bit_sum(tensor: torch.Tensor) -> int | torch.Tensor:
    """Return the sum of the bits of a tensor, as integers; a tensor if it is not on the CPU.

    It is 0 if there are no bits to be read.
    """
    value = local(tensor.detach())
    if value.layout is not torch.strided or value.is_meta or value.is_quantized:
        return 0
    try:
        flat = _flat(value)
        total = _sum(flat)
    except RuntimeError:  # no memory, such as a subclass that wraps other tensors
        return 0
    return int(total) if value.is_cpu else total


def _flat(value: torch.Tensor) -> torch.Tensor:
    """Return the elements in one dimension, in the order of the memory if that is dense."""
    if not value.is_contiguous():
        order = sorted(range(value.dim()), key=value.stride, reverse=True)
        value = value.permute(order).contiguous()
    return value.view(-1)


def _sum(flat: torch.Tensor) -> Any:
    size = flat.element_size()
    if size >= 8:
        return flat.view(torch.int64).sum()
    plain = _INTEGERS[size]
    each = 8 // size
    whole = flat.numel() // each * each
    if not whole or flat.storage_offset() % each:
        return flat.view(plain).sum()
    if whole == flat.numel():
        return flat.view(torch.int64).sum()
    return flat[:whole].view(torch.int64).sum() + flat[whole:].view(plain).sum()
