"""Quantized modules of `torch.ao.nn`: their sizes, and which ones a model has."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.models import module_tree

_PACKAGES = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized")
_SIZES = (
    "in_features", "out_features", "in_channels", "out_channels", "kernel_size", "num_embeddings",
    "embedding_dim", "input_size", "hidden_size", "batch_first", "num_features", "num_channels",
    "normalized_shape",
)  # fmt: skip


def is_quantized(module: nn.Module) -> bool:
    """Whether a module computes with integers: it has no gradients, and packs its weights."""
    return ".quantized." in f"{type(module).__module__}."


def is_packed(kind: type[nn.Module]) -> bool:
    """Whether a class only stores the weights of a quantized layer: it is not called."""
    return "Packed" in kind.__name__ and kind.__module__.startswith("torch.ao.nn.")


def quantized_types(root: nn.Module) -> list[str]:
    """Return the names of the classes of quantized modules in a model, each once, in its order."""
    modules = (module for module, _ in module_tree.modules(root))
    found = (type(m).__name__ for m in modules if is_quantized(m) and not is_packed(type(m)))
    return list(dict.fromkeys(found))


def measures_range(module: nn.Module) -> bool:
    """Whether a module quantizes with the range of the values that it gets, of all samples.

    So do dynamically quantized layers, and the observers and fake quantization of `torch.ao`.
    """
    return any(
        base.__module__.startswith(("torch.ao.quantization.", "torch.ao.nn.quantized.dynamic."))
        for base in type(module).__mro__
    )


def float_counterpart(module: nn.Module) -> nn.Module:
    """Return a module of the class in `torch.nn` with a quantized one's sizes; others unchanged.

    It cannot be called. A quantized ConvReLU2d has the sizes of a Conv2d.
    """
    for base in type(module).__mro__:
        kind: Any = getattr(nn, base.__name__, None)
        if base.__module__.startswith(_PACKAGES) and isinstance(kind, type):
            counterpart: nn.Module = object.__new__(kind)
            nn.Module.__init__(counterpart)
            sizes = {name: getattr(module, name) for name in _SIZES if hasattr(module, name)}
            vars(counterpart).update(sizes)
            return counterpart
    return module


def is_layer(module: nn.Module) -> bool:
    """Whether a module computes by itself: its children, if any, only store its weights."""
    if not module._modules or isinstance(module, nn.MultiheadAttention):
        return True
    return is_quantized(module) and float_counterpart(module) is not module
