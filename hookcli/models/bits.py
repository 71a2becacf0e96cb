"""The memory of a tensor: its storage, which several tensors may share, and its bits."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from hookcli.refusals import raise_if_external
from hookcli.torch_private import FakeTensor

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}  # by size in bytes


def same_bits(first: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal bit by bit, so that a NaN equals itself."""
    if (
        first.layout is not other.layout
        or first.dtype != other.dtype
        or first.device != other.device
    ):
        return False
    try:
        pair = alike(first.detach(), other.detach())
        first_parts, other_parts = (parts_of(tensor) for tensor in pair)
        return len(first_parts) == len(other_parts) and all(
            a.shape == b.shape and torch.equal(bits_of(a), bits_of(b))
            for a, b in zip(first_parts, other_parts, strict=True)
        )
    except Exception as error:  # noqa: BLE001  # a subclass of the user's may raise anything
        raise_if_external(error)
        return written(first) == written(other)


def written(tensor: torch.Tensor) -> str:
    """Return `str(tensor)`, or only the class if that raises."""
    try:
        return str(tensor)
    except Exception:  # noqa: BLE001  # as above
        return f"<{type(tensor).__name__}>"


def alike(first: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both without the repetitions that they share: an expanded tensor may have any size."""
    plain = first.layout is torch.strided and not (first.is_nested or other.is_nested)
    if plain and first.layout is other.layout and first.stride() == other.stride():
        return once(first), once(other)
    return first, other


def parts_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the strided tensors that store a tensor's values.

    Raises
    ------
    RuntimeError : its layout has none.

    """
    if tensor.is_nested:
        return [part for component in tensor.unbind() for part in parts_of(component)]
    if tensor.layout is torch.strided:
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
        return [tensor.indices(), *parts_of(tensor.values())]
    if tensor.layout in {torch.sparse_csr, torch.sparse_bsr}:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in {torch.sparse_csc, torch.sparse_bsc}:
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    raise RuntimeError("no flat memory")


def bits_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bits of a strided tensor as integers, of which each equals itself."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().view(-1)
    return flat.view(_WORDS.get(flat.element_size(), torch.int64))


def memory_of(tensor: torch.Tensor) -> memoryview:
    """Return the bytes of a contiguous tensor on the CPU, without a copy.

    Raises
    ------
    RuntimeError : it has no memory, such as a fake tensor or one of a class that wraps others.

    """
    flat = tensor.view(torch.uint8)
    try:
        return flat.numpy().data
    except RuntimeError as error:
        if "umpy is not available" not in str(error):
            raise
    except TypeError as error:  # it is on another device
        raise RuntimeError("no memory") from error
    # NumPy is not installed. A fake tensor would warn when it is asked for its address.
    fake = flat.device.type != "cpu" or isinstance(flat, FakeTensor)
    address, size = 0 if fake else flat.data_ptr(), flat.numel()
    if not address and size:
        raise RuntimeError("no memory")
    memory = (ctypes.c_ubyte * size).from_address(address)
    memory.tensor = flat  # type: ignore[attr-defined]  # the view keeps it alive
    return memoryview(memory)


def sized_storage(tensor: torch.Tensor) -> tuple[Any, int] | None:
    """Return a tensor's storage and its size in bytes.

    None for a tensor without a storage of known size: sparse, nested, uninitialised.
    """
    try:
        storage = tensor.untyped_storage()
        return storage, storage.nbytes()
    except (NotImplementedError, RuntimeError, ValueError):
        return None


def storage_of(tensor: torch.Tensor) -> Any:
    """Return a tensor's storage; None as in `sized_storage`."""
    sized = sized_storage(tensor)
    return None if sized is None else sized[0]


def once(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return a view without the repetitions of an expanded tensor (those of `like` if given)."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return tensor
    strides = (tensor if like is None else like).stride()
    for dim, (size, stride) in enumerate(zip(tensor.shape, strides, strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor
