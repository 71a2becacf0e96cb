"""What a run left, bit by bit, in few bytes: to tell whether two runs came to the same."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from hookcli.models.base import Model
from hookcli.models.storage import once
from hookcli.models.trees import leaves

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}  # by size in bytes


def digest(tensor: torch.Tensor) -> str:
    """A hash of dtype, shape and bits; of the written form where the bits cannot be had."""
    plain = tensor.detach()
    head = f"{plain.dtype} {list(plain.shape)} ".encode()
    try:
        body = b"".join(_bits(part).cpu().numpy().tobytes() for part in _parts(plain))
    except Exception:  # noqa: BLE001  # a subclass of the user's may raise anything
        body = _text(plain).encode("utf-8", "backslashreplace")
    return hashlib.sha256(head + body).hexdigest()[:32]


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are the same bit by bit, so that a NaN equals itself."""
    if one.layout is not other.layout or one.dtype != other.dtype or one.device != other.device:
        return False
    try:
        ours, theirs = (_parts(tensor) for tensor in alike(one.detach(), other.detach()))
        return len(ours) == len(theirs) and all(
            a.shape == b.shape and torch.equal(_bits(a), _bits(b))
            for a, b in zip(ours, theirs, strict=True)
        )
    except Exception:  # noqa: BLE001  # as above
        return _text(one) == _text(other)


def _text(tensor: torch.Tensor) -> str:
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


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that hold the values of one.

    Raises
    ------
    RuntimeError : there are none.

    """
    if tensor.is_nested:
        return [part for one in tensor.unbind() for part in _parts(one)]
    if tensor.layout is torch.strided:
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
        return [tensor.indices(), *_parts(tensor.values())]
    if tensor.layout in {torch.sparse_csr, torch.sparse_bsr}:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in {torch.sparse_csc, torch.sparse_bsc}:
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    raise RuntimeError("no flat memory")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of a strided tensor as integers, which equal themselves."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().view(-1)
    return flat.view(_WORDS.get(flat.element_size(), torch.int64))


def digests_of_output(output: Any, step: int) -> dict[str, str]:
    """Of each tensor of an output."""
    return {f"step {step} output{path}": digest(t) for path, t, _ in leaves(output)}


def digests_of_model(model: Model, step: int) -> dict[str, str]:
    """Of gradients, parameters and buffers, as they are now."""
    found = {}
    for info in model.parameters():
        if info.tensor.grad is not None:
            found[f"step {step} gradient of {info.name}"] = digest(info.tensor.grad)
        found[f"step {step} parameter {info.name}"] = digest(info.tensor)
    for info in model.buffers():
        found[f"step {step} buffer {info.name}"] = digest(info.tensor)
    return found
