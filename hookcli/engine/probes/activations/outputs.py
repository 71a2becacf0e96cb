"""Finds layers, and models, whose output is zero or the same for each sample of the batch."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hookcli.engine.probes.activations.reading import distinct, pieces, thin
from hookcli.engine.statistics.readable import readable
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.models.scripted import is_scripted

# Layers that may return zeros or a constant: their purpose is to drop, select or look up.
_MAY = ("Dropout", "Embedding", "shrink", "Loss", "Threshold", "ReLU", "Identity", "Upsample",
        "Pad", "Fold", "Unfold", "Hardtanh", "Hardswish")  # fmt: skip
_SCALES = re.compile(r"(weight|gamma|alpha|scale|gate)\w*$")  # parameters that may multiply by zero
_FEW = 64
_NARROW_VALUES, _VALUES = 32, 3  # a narrow dtype rounds values that differ to the same number
_NEARLY, _CLEARLY = 1e-5, 1e-3


_Reference: TypeAlias = Callable[[], Tensor | None]


def may_be_constant(layer: str) -> bool:
    """Return whether a constant output is normal for a layer of torch.nn, by its class."""
    return any(word in layer for word in _MAY)


class ConstantOutputs:
    """Compares the samples of outputs. Dimension 0 is taken for the batch.

    The values of inputs are read only if an output is suspicious, so nothing is kept but weak
    references. In TorchScript the inputs are kept until the end of the call.
    """

    def __init__(self) -> None:
        self._inputs: dict[int, list[_Reference]] = {}

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Remember the inputs of a call."""
        args, kwargs = batch
        tensors: Iterable[Any] = args
        if kwargs or not all(isinstance(arg, Tensor) for arg in args):
            tensors = (tensor for _, tensor, _ in argument_leaves(args, kwargs))
        refer = _kept if is_scripted(call.module) else weakref.ref
        self._inputs[call.order] = [refer(tensor) for tensor in tensors]

    def of_layer(self, call: Call, output: Tensor) -> tuple[str, dict[str, Any]] | None:
        """Return ("zero" or "constant", facts) of a layer's output; None if it varies.

        The output of a layer whose input does not vary is not constant because of the layer.
        """
        inputs = self._inputs.pop(call.order, [])
        values = _values(output)
        if values is None or values.dim() < 2 or _differ(values):
            return None
        facts = {"samples": values.shape[0], "weights_zero": False}
        kind = None
        if _is_zero(values):
            enough = values.numel() >= _NARROW_VALUES
            kind = "zero" if enough and _each(inputs, lambda x: not _is_zero(x)) else None
        elif _is_enough(values) and spread(values, 0.0) == 0:
            size = values.shape[0]
            kind = "constant" if _each(inputs, lambda x: _varies(x, size)) else None
        if kind is None:
            return None
        own = [p for name, p in call.module._parameters.items() if name != "bias" and p is not None]
        facts["weights_zero"] = any(_is_zero(p) for p in map(_values, own) if p is not None)
        return kind, facts

    def of_model(self, call: Call, output: Any, model: Model) -> dict[str, Any] | None:
        """Return facts about a model that returns the same for each sample; None if it does not."""
        inputs = self._inputs.pop(call.order, [])
        found = [values for _, t, _ in leaves(output) if (values := _values(t)) is not None]
        found = [values for values in found if values.dim() and values.shape[0] > 1]
        if not found or not all(_is_enough(v) and spread(v, _NEARLY) <= _NEARLY for v in found):
            return None
        size = found[0].shape[0]
        if any(v.shape[0] != size for v in found) or not any(
            _tests(inputs, lambda x: _varies(x, size))
        ):
            return None
        if _counts_nodes(inputs, model, size):
            return None
        return {
            "samples": size,
            "spread": max(spread(values, 0.0) for values in found),
            "zero": all(_is_zero(values) for values in found),
            "weights_zero": any(
                _is_zero(values)
                for info in model.parameters()
                if _SCALES.search(info.name) and (values := _values(info.tensor)) is not None
            ),
        }

    def forget(self, call: Call) -> None:
        """Forget the inputs of a call that is not judged."""
        self._inputs.pop(call.order, None)


def _kept(tensor: Tensor) -> _Reference:
    """Return what is called like a weak reference: TorchScript frees an input at its last use."""
    return lambda: tensor


def _counts_nodes(inputs: list[_Reference], model: Model, size: int) -> bool:
    """Return whether dimension 0 may count the nodes of a graph: an input or buffer is square.

    An adjacency matrix connects nodes, and those with the same neighbours have the same output.
    """
    given = [tensor for ref in inputs if (tensor := ref()) is not None]
    matrices = [*(given if len(given) > 1 else ()), *(info.tensor for info in model.buffers())]
    return any(tensor.dim() >= 2 and tensor.shape[:2] == (size, size) for tensor in matrices)


def _values(tensor: Tensor) -> Tensor | None:
    """Return the values of a floating-point tensor without implicit zeros; None for others."""
    if not tensor.is_floating_point() or tensor.is_nested or tensor.is_sparse:
        return None
    result = readable(tensor)
    if result is None or result[1] or not tensor.numel():
        return None
    return distinct(result[0])


def _differ(values: Tensor) -> bool:
    """Return whether a few values of the first and the last sample differ, or one is not zero."""
    size = values.shape[0]
    few = _ends(values)
    return bool(few.any()) if size == 1 else not torch.equal(few[0], few[-1])


def _is_zero(values: Tensor) -> bool:
    if values.dim() and bool(thin(values, _FEW).any()):
        return False
    return not bool((values != 0).any())


def _is_enough(values: Tensor) -> bool:
    """Return whether equal samples are no coincidence."""
    compared = values.numel() - values[0].numel()
    return compared >= (_NARROW_VALUES if values.element_size() < 4 else _VALUES)


def spread(values: Tensor, most: float) -> float:
    """Return the largest difference from the first sample, relative to the largest value.

    If a few values differ by more than `most`, the result is theirs. It is inf for values that are
    not finite.
    """
    largest = 0.0
    for part in chain((_ends(values),), _whole(values)):
        part = part.float() if part.element_size() < 4 else part
        scale = float(part.abs().amax())
        off = float((part - part[:1]).abs().amax())
        if not off < float("inf"):
            return float("inf")
        largest = max(largest, off / scale if scale else 0.0)
        if largest > most:
            break
    return largest


def _ends(values: Tensor) -> Tensor:
    """Return a few values of the first and the last sample."""
    return thin(values[:: max(1, values.shape[0] - 1)], _FEW, 0)


def _whole(values: Tensor) -> Iterable[Tensor]:
    """Yield pieces of all samples, each with the first sample first."""
    for piece in pieces(values.transpose(0, 1)) if values.dim() > 1 else (values[:, None],):
        yield piece.transpose(0, 1) if values.dim() > 1 else piece


def _varies(values: Tensor, size: int) -> bool:
    """Return whether the samples of an input clearly differ; integers differ if any does."""
    if not values.dim() or values.shape[0] != size:
        return False
    if not values.is_floating_point():
        return bool((values != values[:1]).any())
    return spread(values, _CLEARLY) > _CLEARLY


def _each(inputs: list[_Reference], test: Callable[[Tensor], bool]) -> bool:
    """Return whether the test is true for each input: a product with a zero input is zero."""
    results = list(_tests(inputs, test))
    return bool(results) and all(results)


def _tests(inputs: list[_Reference], test: Callable[[Tensor], bool]) -> Iterator[bool]:
    """Yield the result of a test for each input that is alive and can be read."""
    for ref in inputs:
        tensor = ref()
        if tensor is None or tensor.is_complex() or not tensor.numel() or tensor.is_nested:
            continue
        result = readable(tensor)
        if result is not None and not result[1]:
            yield test(distinct(result[0]))
