"""Counts the bytes of the storages that operators make, for as long as these storages exist.

A storage is found in the results of operators, and a weak reference tells when it is freed. Fake
tensors have storages of the same sizes, so that the count needs no memory and no values. What a
kernel allocates and frees within one operator is not visible.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from hookcli.models.bits import sized_storage
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.nested import leaves
from hookcli.models.scripted import OURS, lost
from hookcli.torch_private import FakeTensor, is_traceable_wrapper_subclass

_DEVICE: Any = torch.ops.prim.device.default
# Their result shares the storage of an argument that no operator made: torch.tensor([1.0]).
_MAKERS: tuple[Any, ...] = (torch.ops.aten.lift_fresh.default, torch.ops.aten.lift.default)

# Real kernels also return a workspace that backward needs; fake ones return an empty tensor.
_WORKSPACES = frozenset({"mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn"})


def dense_parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield the tensors with storages that a sparse tensor or a tensor subclass consists of."""
    wrapper: Any = tensor
    if is_traceable_wrapper_subclass(wrapper):
        for name in wrapper.__tensor_flatten__()[0]:
            yield from dense_parts(getattr(tensor, name))
    elif tensor.layout is torch.sparse_coo:
        yield from (tensor._indices(), tensor._values())
    elif tensor.layout in {torch.sparse_csr, torch.sparse_bsr}:
        yield from (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    elif tensor.layout in {torch.sparse_csc, torch.sparse_bsc}:
        yield from (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    else:
        yield tensor


def storages(value: Any) -> Iterator[tuple[Any, int] | None]:
    """Yield each storage in a nested value, with its bytes; None for a tensor without one."""
    plain = type(value) is torch.Tensor  # most results
    for tensor in [value] if plain else [tensor for _, tensor, _ in leaves(value)]:
        if type(tensor) is torch.Tensor and tensor.layout is torch.strided:
            yield sized_storage(tensor)
        else:
            yield from (sized_storage(part) for part in dense_parts(tensor))


@cache
def _name(func: Any) -> str:
    return str(getattr(func, "__name__", "")).partition(".")[0]


@cache
def _gives_alias(func: Any) -> bool:
    """Whether the results of an operator share storages with its arguments, as views do."""
    schema = getattr(func, "_schema", None)
    returns = [] if schema is None else schema.returns
    return bool(returns) and all(each.alias_info is not None for each in returns)


def _computed(out: Any, args: tuple[Any, ...]) -> Any:
    """Return the results without those that a mask excludes: fake kernels may make them too."""
    mask = args[-1] if args else None
    if type(mask) is list and type(out) is tuple and len(mask) == len(out):
        return tuple(each for each, wanted in zip(out, mask, strict=True) if wanted is not False)
    return out


@dataclass(slots=True)
class _Counted:
    """A storage: a weak reference, the bytes that count, those that existed before, its maker."""

    reference: Any
    counted: int
    before: int
    maker: int | None


class LiveBytes(UncompiledMode):  # type: ignore[no-untyped-call]
    """The bytes of the storages that operators made while the mode was active, and that exist.

    `after(now)` is called after every operator, `maker()` for every new storage. Storages that
    existed before are not counted: the parameters, the buffers, the batch. If one of them grows,
    the difference is counted.
    """

    supports_higher_order_operators = True

    def __init__(
        self,
        after: Callable[[int], None] = lambda _: None,
        maker: Callable[[], int | None] = lambda: None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = 0
        self.unsized = 0  # results whose storage has no known size
        self.workspaces: set[str] = set()  # fake operators whose workspace has no known size
        self._after = after
        self._maker = maker
        self._counted: dict[int, _Counted] = {}  # by address

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            out = func(*args, **(kwargs or {}))
        except BaseException as error:
            lost.note(error)
            raise
        if func is not _DEVICE and func.namespace != OURS:
            if _name(func) in _WORKSPACES and isinstance(out[0], FakeTensor):
                self.workspaces.add(_name(func))
            makes = func in _MAKERS
            self._note(
                _computed(out, args),
                () if makes else (args, kwargs),
                alias=not makes and _gives_alias(func),
            )
            self._after(self.now)
        return out

    def _note(self, out: Any, inputs: Any, *, alias: bool) -> None:
        """Count the storages of a result that are new, and the growth of those that are not.

        With `alias` none is new: fake tensors give the view of a real tensor a storage of its own.
        """
        before: set[int] | None = None
        for sized in storages(out):
            if sized is None:
                self.unsized += 1
                continue
            storage, size = sized
            key = storage._cdata
            entry = self._counted.get(key)
            if entry is not None:
                self._resize(entry, size)
                continue
            if before is None:
                before = {s[0]._cdata for s in storages(inputs) if s is not None}
            self._add(storage, key, size, outside=alias or key in before)

    def _add(self, storage: Any, key: int, size: int, *, outside: bool) -> None:
        """Begin to track a storage; one from outside is counted only as far as it grows."""
        counted = 0 if outside else int(size)

        def freed(_: Any) -> None:
            entry = self._counted.pop(key, None)
            if entry is not None:
                self.now -= entry.counted

        self._counted[key] = _Counted(
            weakref.ref(storage, freed), counted, int(size) - counted, self._maker()
        )
        self.now += counted

    def _resize(self, entry: _Counted, size: int) -> None:
        counted = max(0, int(size) - entry.before)
        self.now += counted - entry.counted
        entry.counted = counted

    def alive(self) -> Iterator[tuple[int, int, int | None]]:
        """Yield the address, the bytes and the maker of each storage that is counted."""
        for key, entry in list(self._counted.items()):
            yield key, entry.counted, entry.maker
