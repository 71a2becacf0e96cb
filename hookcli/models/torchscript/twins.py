"""Substitutes for scripted and quantized modules of torch's own classes, with their sizes."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.models.converted.quantized import float_counterpart, is_quantized
from hookcli.models.scripted import is_scripted, qualified_type, type_of
from hookcli.torch_private import NormBase

_NN = "torch.nn.modules."
_TWIN = "_hookcli_twin"


def twin_of(module: nn.Module) -> nn.Module:
    """Return a module of torch's own class with a scripted or quantized one's sizes, or itself.

    The substitute has the class and the sizes, and cannot be called. A traced module has no
    constants: its sizes are those of its weights.
    """
    if not is_scripted(module):
        return float_counterpart(module) if is_quantized(module) else module
    known: nn.Module | None = vars(module).get(_TWIN)
    if known is not None:
        return known
    name = qualified_type(module) or ""
    kind = getattr(nn, type_of(module), None) if name.startswith(_NN) else None
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        return module
    twin: nn.Module = kind.__new__(kind)
    nn.Module.__init__(twin)
    twin._parameters.update(module._parameters.items())
    twin._buffers.update(module._buffers.items())
    vars(twin).update(_of_weights(twin))
    for base in kind.__mro__:
        for constant in vars(base).get("__constants__", ()):
            if hasattr(module, constant):
                vars(twin)[constant] = getattr(module, constant)
    vars(module)[_TWIN] = twin
    return twin


def _of_weights(twin: nn.Module) -> dict[str, Any]:
    """Return the sizes that the shapes of weights and buffers give, assuming one group."""
    tensors = {**twin._buffers, **twin._parameters}
    shapes = {name: tuple(t.shape) for name, t in tensors.items() if t is not None}
    match twin, shapes:
        case nn.Linear(), {"weight": (out, into)}:
            return {"in_features": into, "out_features": out}
        case ((nn.Embedding() | nn.EmbeddingBag()), {"weight": (count, width)}):
            return {"num_embeddings": count, "embedding_dim": width}
        case (
            (nn.ConvTranspose1d() | nn.ConvTranspose2d() | nn.ConvTranspose3d()),
            {"weight": (into, out, *kernel)},
        ):
            return {"in_channels": into, "out_channels": out, "kernel_size": tuple(kernel)}
        case ((nn.Conv1d() | nn.Conv2d() | nn.Conv3d()), {"weight": (out, into, *kernel)}):
            return {"in_channels": into, "out_channels": out, "kernel_size": tuple(kernel)}
        case nn.RNNBase(), {"weight_ih_l0": (_, into)}:
            return {"input_size": into, "batch_first": False}
        case nn.RNNCellBase(), {"weight_ih": (_, into)}:
            return {"input_size": into}
        case (
            NormBase(),
            ({"weight": (width,)} | {"running_mean": (width,)}),
        ):
            return {"num_features": width}
        case nn.GroupNorm(), {"weight": (width,)}:
            return {"num_channels": width}
        case ((nn.LayerNorm() | nn.RMSNorm()), {"weight": shape}):
            return {"normalized_shape": shape}
        case nn.Bilinear(), {"weight": (_, into, _)}:
            return {"in1_features": into}
        case nn.MultiheadAttention(), {"in_proj_weight": (_, width)}:
            return {"embed_dim": width, "batch_first": False}
    return {}
