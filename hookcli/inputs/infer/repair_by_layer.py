"""Repairs from the layer that raised: the input that it accepts, against the one that it got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from torch import nn

from hookcli.inputs.infer.layer_clues import Clues, has_sizes, ids, inputs_of
from hookcli.inputs.infer.sizes import resized
from hookcli.inputs.infer.state_clues import by_state
from hookcli.inputs.infer.trial import Reached, Trial
from hookcli.models.scripted import type_of
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import TensorSpec
from hookcli.text import with_article
from hookcli.torch_private import ConvNd, NormBase

Repair: TypeAlias = tuple[Hypothesis, str]


def _sources(trial: Trial, failed: Reached) -> list[tuple[str, TensorSpec]]:
    """The parameters of forward that may have become the failing layer's input, likeliest first.

    The one that is its input unchanged; else those of the same shape; else floats before indices.
    """
    tensors = list(trial.hypothesis.tensors())
    known = [(n, s) for n, s in tensors if failed.slots and failed.slots[0] == n]
    if known:
        return known
    same_shape = [(n, s) for n, s in tensors if failed.shapes and s.shape == failed.shapes[0]]
    return same_shape or sorted(tensors, key=lambda pair: pair[1].dtype is not None)


def by_layer(trial: Trial, failed: Reached, clues: Clues, *, indices: bool) -> Iterator[Repair]:
    """Yield inputs that the layer accepts. `indices`: the error message asks for indices."""
    if not failed.shapes:
        return
    yield from by_state(trial, failed)
    for name, spec in _sources(trial, failed):
        yield from _for_source(trial, failed, clues, name, spec, indices=indices)


def _for_source(
    trial: Trial, failed: Reached, clues: Clues, name: str, spec: TensorSpec, *, indices: bool
) -> Iterator[Repair]:
    got, module, hypothesis = failed.shapes[0], failed.module, trial.hypothesis
    if not has_sizes(module):
        return
    if isinstance(module, nn.Embedding | nn.EmbeddingBag) and spec.dtype is not None:
        in_table = ids(spec.shape, module.num_embeddings)
        yield hypothesis.with_guess(name, in_table), "its embedding table"
    if spec.shape == got or indices:
        for candidate in inputs_of(module, clues):
            if candidate != spec:
                why = f"{failed.name} is {with_article(type_of(module))}"
                yield hypothesis.with_guess(name, candidate), why
    expected, actual = _expected(module), _actual(module, got)
    if expected and actual and expected != actual:
        for changed, why in resized(spec, expected, actual):
            yield hypothesis.with_guess(name, changed), f"{failed.name} expects {expected}, {why}"


def sizes_of(failed: Reached) -> Iterator[tuple[int, int]]:
    """Yield the features or channels that a layer expects, with those of its input."""
    if failed.shapes and has_sizes(failed.module):
        expected, actual = _expected(failed.module), _actual(failed.module, failed.shapes[0])
        if isinstance(expected, int) and isinstance(actual, int) and expected and actual:
            yield expected, actual


def _expected(module: Any) -> Any:
    """Features or channels that a layer expects; 0 for a lazy one, which accepts any number."""
    match module:
        case nn.Linear():
            return module.in_features
        case ConvNd():
            return module.in_channels
        case nn.RNNBase() | nn.RNNCellBase():
            return module.input_size
        case NormBase():
            return module.num_features
        case nn.LayerNorm() | nn.RMSNorm():
            return module.normalized_shape[-1]
        case nn.GroupNorm():
            return module.num_channels
        case nn.MultiheadAttention():
            return module.embed_dim
    return None


def _actual(module: nn.Module, got: tuple[int, ...]) -> int | None:
    channels = ConvNd | NormBase | nn.GroupNorm
    if isinstance(module, channels):
        return got[1] if len(got) > 1 else None
    return got[-1] if got else None
