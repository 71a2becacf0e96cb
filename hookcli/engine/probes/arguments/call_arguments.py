"""What functions of PyTorch that are no losses are called with: dropout, masks, grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn
from torch.utils import checkpoint

from hookcli.engine.probes.arguments.attention_arguments import masks_of_call
from hookcli.engine.probes.arguments.resampling_arguments import LOOKS as RESAMPLING
from hookcli.engine.probes.function_calls import Arguments, Finding, by_code
from hookcli.torch_private import DropoutBase

# Functions of dropout that do nothing by default: `training` is False.
_OFF_BY_DEFAULT = ("alpha_dropout", "feature_alpha_dropout")
# Changes of shape between a linear layer and its result, whose features are in the last dimension.
_ROWS = {"ViewBackward0", "UnsafeViewBackward0", "ReluBackward0", "GeluBackward0", "TanhBackward0"}
_LINEAR = {"AddmmBackward0", "MmBackward0", "LinearBackward0", "NativeLayerNormBackward0"}
_FRAMES = 20  # around a call, in which its module is searched for


def off(name: str, frame: FrameType) -> Finding:
    """Return that a dropout is off although the module that calls it trains."""
    given = frame.f_locals
    if given["training"] or not given["p"]:
        return None
    module = _module_around(frame)
    if module is None or type(module).__module__.startswith("torch.") or not module.training:
        return None
    return "dropout_off", {"function": name, "p": float(given["p"])}


def _maker(values: torch.Tensor) -> str:
    """Return the name of the node that made rows of features, before an activation."""
    made = values.grad_fn
    while made is not None and made.name() in _ROWS:
        made = made.next_functions[0][0]
    return "" if made is None else made.name()


def dropped_channels(name: str, frame: FrameType) -> Finding:
    """Return that a dropout of channels takes samples or positions for channels.

    dropout2d of three dimensions is that of one sample, whose first dimension has the channels.
    """
    given = frame.f_locals
    values, training = given["input"], given["training"]
    if not training or not given["p"] or not isinstance(values, torch.Tensor):
        return None
    dims = int(name[len("dropout")]) + 1  # of one sample
    found = {"function": name, "shape": [*values.shape], "channels": values.dim() - dims}
    if values.dim() == dims and dims > 2 and len(values) > 1:
        return "dropped_channels", found
    of_features = _maker(values) in {*_LINEAR, "EmbeddingBackward0"}
    is_batch = values.dim() == dims + 1 == 3 and values.shape[1] > 1
    return ("dropped_channels", found) if of_features and is_batch else None


def normalized_positions(frame: FrameType) -> Finding:
    """Return that a layer norm of [samples, positions, features] is over positions, too."""
    given = frame.f_locals
    values, sizes = given["input"], given["normalized_shape"]
    if not isinstance(values, torch.Tensor) or values.dim() != 3 or len(sizes) != 2:
        return None
    if min(values.shape[1:]) < 2:
        return None
    return "whole_layer_norm", {"shape": [*values.shape], "positions": int(values.shape[1])}


def normalized(frame: FrameType) -> Finding:
    """Return that F.normalize works over positions, as its default dimension is 1."""
    given = frame.f_locals
    values = given["input"]
    if given["dim"] != 1 or not isinstance(values, torch.Tensor) or values.dim() != 3:
        return None
    if _maker(values) not in _LINEAR or values.shape[1] < 2:
        return None
    return "normalized_positions", {"function": "F.normalize", "shape": [*values.shape]}


def _module_around(frame: FrameType) -> nn.Module | None:
    """Return the module whose method led to a call."""
    current = frame.f_back
    for _ in range(_FRAMES):
        if current is None:
            return None
        owner = current.f_locals.get("self")
        if isinstance(owner, nn.Module):
            return owner
        current = current.f_back
    return None


def recomputed(given: Arguments) -> Finding:
    """Return that a checkpoint draws other dropout masks when it runs again."""
    options = given.get("kwargs") or {}
    keeps = options.get("preserve_rng_state", given.get("preserve_rng_state", True))
    active = [one for one in _modules(given.get("function")) if one.training and one.p > 0]
    return ("checkpoint", {"dropouts": len(active)}) if active and not keeps else None


def _modules(function: Any) -> Iterator[DropoutBase]:
    """Yield the modules of dropout that a function runs: it is a module, or a method of one."""
    owner = getattr(function, "__self__", function)
    if isinstance(owner, nn.Module):
        yield from (one for one in owner.modules() if isinstance(one, DropoutBase))


_LOOKS: dict[str, Callable[[FrameType], Finding]] = {
    **{name: partial(off, name) for name in _OFF_BY_DEFAULT},
    **{name: partial(dropped_channels, name) for name in ("dropout1d", "dropout2d", "dropout3d")},
    "normalize": normalized,
    "layer_norm": normalized_positions,
    "multi_head_attention_forward": masks_of_call,
    **RESAMPLING,
}


def looks_by_code() -> dict[CodeType, Callable[[FrameType], Finding]]:
    """Return what looks at the calls of functions, by their code."""
    found = by_code(_LOOKS)
    inner = getattr(checkpoint.checkpoint, "__wrapped__", checkpoint.checkpoint)
    code = getattr(inner, "__code__", None)
    if code is not None:
        found[code] = lambda frame: recomputed(frame.f_locals)
    return found
