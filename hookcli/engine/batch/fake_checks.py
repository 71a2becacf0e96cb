"""Checks that fake tensors lack, and errors of a fake run that are not the model's.

A fake tensor has no values, so an index beyond the end of an embedding is not noticed. The values
of the batch's own tensors are known: they are checked when an embedding is called with them.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from hookcli.models.failures import message_of
from hookcli.models.fake.fake import bounds_of
from hookcli.models.nested import dtype_name, leaves
from hookcli.models.torchscript.twins import twin_of
from hookcli.torch_private import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)


class FakeDoubtError(Exception):
    """A fake run continued although a real run may raise or behave differently."""


_LIMITS: tuple[type[BaseException], ...] = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
    FakeDoubtError,
    NotImplementedError,
)


# What a message of Python or of a model names, which is about any tensor.
_FAKE_TYPE = re.compile(
    r"<class 'torch\._subclasses\.fake_tensor\.FakeTensor'>|\bnot FakeTensor\b|'FakeTensor' object"
)
# The last is from the fake grouped_mm of torch 2.13, which rejects inputs of the real one.
_WORDS = ("FakeTensor", "meta tensor", "Expected inputs of BF16 type")


def is_inconclusive(error: BaseException) -> bool:
    """Whether this error comes from fake tensors rather than from the model."""
    text = _FAKE_TYPE.sub("", message_of(error))
    return issubclass(type(error), _LIMITS) or any(words in text for words in _WORDS)


def mixes_real(error: BaseException) -> bool:
    """Whether a fake tensor met a real one of the model, such as of a layer in a plain list."""
    text = message_of(error)
    if "Multiple dispatch failed" in text and "hookcli.models.fake" in text:
        return True  # a lazy batch norm makes its buffers under the fake mode
    return "FakeTensorDevice" in type(error).__name__ or ("meta" in text and "device" in text)


def _check_dtype(module: Any, args: tuple[Any, ...]) -> None:
    """Raise FakeDoubtError if a linear layer gets integers, which its fake kernel accepts."""
    first = args[0] if args else None
    if type(module) is not nn.Linear or not isinstance(first, torch.Tensor):
        return
    integral = not (first.is_floating_point() or first.is_complex())
    if integral and module.weight.is_floating_point():
        raise FakeDoubtError(f"expected floats, got {dtype_name(first.dtype)}")


class FakeTensorChecks:
    """Checks embedding indices in a fake run, from the bounds of the batch's integer tensors."""

    def __init__(self) -> None:
        self._bounds: dict[int, tuple[int, int]] = {}
        self._alive: list[torch.Tensor] = []

    def knowing(self, original: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
        """Remember the bounds of `original` for `fake`, and return `fake`."""
        integral = not (fake.is_floating_point() or fake.is_complex())
        if integral and original is not fake and original.numel() and not original.is_meta:
            low, high = torch.aminmax(original.to(torch.int64))
            self._bounds[id(fake)] = (int(low), int(high))
            self._alive.append(fake)
        return fake

    def _bounds_of(self, tensor: torch.Tensor) -> tuple[int, int] | None:
        """The bounds of a tensor of the batch or of a range, or of one that is a view of it."""
        whole = self._bounds.get(id(tensor))
        if whole is None and tensor._base is not None:
            whole = self._bounds.get(id(tensor._base))
        return whole or bounds_of(tensor)

    def check_output(self, module: Any, output: Any) -> None:
        """Raise FakeDoubtError if a fake kernel returns a tensor and the real one returns None."""
        if isinstance(module, nn.MultiheadAttention) and isinstance(output, tuple):
            weights = output[1] if len(output) == 2 else None
            if isinstance(weights, torch.Tensor) and weights.shape == (0,):
                raise FakeDoubtError("fake fused attention returns weights, real attention None")

    def check(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise FakeDoubtError if an embedding is called with indices out of its range."""
        module = twin_of(module)
        _check_dtype(module, args)
        if not isinstance(module, nn.Embedding | nn.EmbeddingBag):
            return
        if type(module).forward not in (nn.Embedding.forward, nn.EmbeddingBag.forward):
            return  # a forward of the user's own may use the table differently
        indices = args[0] if args else kwargs.get("input")
        for _, tensor, _ in leaves(indices):
            bounds = self._bounds_of(tensor)
            if bounds and (bounds[0] < 0 or bounds[1] >= module.num_embeddings):
                raise FakeDoubtError(
                    f"indices from {bounds[0]} to {bounds[1]} for {module.num_embeddings} rows"
                )
