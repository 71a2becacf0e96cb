"""Digests of the tensors of a run, to tell whether two runs are the same, bit by bit."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from hookcli.models.bits import bits_of, memory_of, parts_of, written
from hookcli.models.model import Model
from hookcli.models.nested import leaves, shape_of
from hookcli.refusals import raise_if_external


def digest(tensor: torch.Tensor) -> str:
    """Return a hash of dtype, shape and bits; of the printed form if the bits cannot be read."""
    plain = tensor.detach()
    head = f"{plain.dtype} {list(shape_of(plain))} ".encode()
    try:
        body = b"".join(bytes(memory_of(bits_of(part).cpu())) for part in parts_of(plain))
    except Exception as error:  # noqa: BLE001  # the user's tensor subclass may raise anything
        raise_if_external(error)
        body = written(plain).encode("utf-8", "backslashreplace")
    return hashlib.sha256(head + body).hexdigest()[:32]


def digests_of_output(output: Any, step: int) -> dict[str, str]:
    """Return the digest of each tensor of an output."""
    return {f"step {step} output{path}": digest(t) for path, t, _ in leaves(output)}


def digests_of_model(model: Model, step: int) -> dict[str, str]:
    """Return the digests of the current gradients, parameters and buffers."""
    digests = {}
    for info in model.parameters():
        if info.tensor.grad is not None:
            digests[f"step {step} gradient of {info.name}"] = digest(info.tensor.grad)
        digests[f"step {step} parameter {info.name}"] = digest(info.tensor)
    for info in model.buffers():
        digests[f"step {step} buffer {info.name}"] = digest(info.tensor)
    return digests
