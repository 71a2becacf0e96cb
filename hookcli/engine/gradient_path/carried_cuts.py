"""The cuts behind the values of tensors: where gradients ended on their way."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch


class _Record(NamedTuple):
    ref: weakref.ref[torch.Tensor]
    cuts: int
    graded: bool  # whether it required grad when it was made


class CarriedCuts:
    """The cuts behind the values of each tensor that was seen, as the bits of an integer.

    Results that a custom Function computes require grad only after it ended. The cuts inside it,
    `of_functions`, do not count for them from then on.

    What is written through `z.data` or `z.detach()` changes `z` without its graph. The cuts of such
    writes, `of_aliases`, do not count for the alias itself, which has a graph of its own.
    """

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        self._records: dict[int, _Record] = {}
        self._written: dict[int, tuple[Any, int]] = {}  # by storage, which is kept
        self._aliases: dict[int, weakref.ref[torch.Tensor]] = {}
        self.of_functions = self.of_aliases = 0
        for tensor in known:
            self.set(tensor, 0)

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether it was seen before."""
        record = self._records.get(id(tensor))
        return record is not None and record.ref() is tensor

    def of(self, tensor: torch.Tensor) -> int:
        """Return the cuts behind a tensor's values."""
        record = self._records.get(id(tensor))
        cuts = 0
        if record is not None and record.ref() is tensor:
            cuts = record.cuts
        if self._written:
            cuts |= self._written.get(_storage_key(tensor), (None, 0))[1]
        if tensor.requires_grad and not (record is not None and record.graded):
            cuts &= ~self.of_functions
        if cuts & self.of_aliases and tensor.requires_grad and self.is_alias(tensor):
            cuts &= ~self.of_aliases
        return cuts

    def add_alias(self, tensor: torch.Tensor) -> None:
        """Note the result of `data` or `detach`, which shares the memory of another tensor."""
        self._aliases[id(tensor)] = weakref.ref(tensor)

    def is_alias(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is the result of `data` or `detach`, or a view of one."""
        for one in (tensor, tensor._base):
            alias = None if one is None else self._aliases.get(id(one))
            if alias is not None and alias() is one:
                return True
        return False

    def set(self, tensor: torch.Tensor, cuts: int) -> None:
        """Note the cuts behind a tensor."""
        self._records[id(tensor)] = _Record(weakref.ref(tensor), cuts, tensor.requires_grad)

    def write(self, tensor: torch.Tensor, cuts: int) -> None:
        """Note that values with these cuts were written to the memory of a tensor."""
        self.set(tensor, self.of(tensor) | cuts)
        key = _storage_key(tensor)
        if cuts and key:
            known = self._written.get(key, (None, 0))[1]
            self._written[key] = (tensor.untyped_storage(), known | cuts)


def _storage_key(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):  # a tensor without a storage
        return 0
