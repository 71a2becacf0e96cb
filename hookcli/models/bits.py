"""The bits of a tensor: what says whether two are the same, a NaN included."""

from __future__ import annotations

import torch

from hookcli.models.storage import once

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}  # by size in bytes


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are the same bit by bit, so that a NaN equals itself."""
    if one.layout is not other.layout or one.dtype != other.dtype or one.device != other.device:
        return False
    try:
        ours, theirs = (parts_of(tensor) for tensor in alike(one.detach(), other.detach()))
        return len(ours) == len(theirs) and all(
            a.shape == b.shape and torch.equal(bits_of(a), bits_of(b))
            for a, b in zip(ours, theirs, strict=True)
        )
    except Exception:  # noqa: BLE001  # a subclass of the user's may raise anything
        return written(one) == written(other)


def written(tensor: torch.Tensor) -> str:
    """The written form; the class alone where that cannot be had."""
    try:
        return str(tensor)
    except Exception:  # noqa: BLE001  # as above
        return f"<{type(tensor).__name__}>"


def alike(one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both without the repetitions that they share: an expanded tensor may have any size."""
    plain = one.layout is torch.strided and not (one.is_nested or other.is_nested)
    if plain and one.layout is other.layout and one.stride() == other.stride():
        return once(one), once(other)
    return one, other


def parts_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that hold the values of one.

    Raises
    ------
    RuntimeError : there are none.

    """
    if tensor.is_nested:
        return [part for one in tensor.unbind() for part in parts_of(one)]
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
    """The bits of a strided tensor as integers, which equal themselves."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().view(-1)
    return flat.view(_WORDS.get(flat.element_size(), torch.int64))
