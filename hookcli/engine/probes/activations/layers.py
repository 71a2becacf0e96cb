"""Facts about layers and operators: which dimension has the units, and torch.nn's own classes."""

from __future__ import annotations

from typing import Any

from hookcli.models.scripted import qualified_type

_CHANNELS = ("Convolution", "MkldnnConvolution", "SlowConv", "NativeBatchNorm", "CudnnBatchNorm",
             "MiopenBatchNorm", "BatchNormBackward", "NativeGroupNorm")  # fmt: skip
_FEATURES = ("Addmm", "Mm", "Linear", "MkldnnLinear", "NativeLayerNorm", "FusedRmsNorm")
_ELEMENTWISE = ("Relu", "Add", "Sub", "Mul", "Div", "NativeDropout", "Clone", "ToCopy", "View",
                "UnsafeView", "ReshapeAlias", "Hardtanh", "Silu", "Gelu", "Pow", "LeakyRelu",
                "Tanh", "Sigmoid", "Hardswish", "Threshold", "Elu", "Clamp")  # fmt: skip
_STEPS = 8

_UNITS_OF_LAYERS = {
    **dict.fromkeys(
        ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
         "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "GroupNorm"), 1,
    ),
    **dict.fromkeys(("Linear", "LayerNorm", "RMSNorm", "Bilinear"), -1),
}  # fmt: skip


def layer_behind(node: Any) -> tuple[Any, int | None]:
    """Return the node of the layer that made a node's input, and the dimension of its units.

    The dimension is 1 after a convolution, -1 after a linear layer. The graph is followed through
    element-wise operators. (None, None) if no such layer is found.
    """
    for _ in range(_STEPS):
        edges = (following for following, _ in node.next_functions)
        node = next((one for one in edges if one is not None and one.next_functions), None)
        if node is None:
            break  # only leaves, whose nodes have no edges
        name = node.name()
        if name.startswith(_CHANNELS):
            return node, 1
        if name.startswith(_FEATURES):
            return node, -1
        if not name.startswith(_ELEMENTWISE):
            break
    return None, None


def is_part_of_gelu(node: Any) -> bool:
    """Return whether a tanh approximates GELU: its input has a third power, and may be flat."""
    for _ in range(4):
        edges = [following for following, _ in node.next_functions if following is not None]
        if any(edge.name().startswith("Pow") for edge in edges):
            return True
        inner = [edge for edge in edges if edge.name().startswith(("Mul", "Add"))]
        if not inner:
            return False
        node = inner[-1]
    return False


def units_of(layer: str | None) -> int | None:
    """Return the same for the output of a layer of torch.nn, by its class."""
    return None if layer is None else _UNITS_OF_LAYERS.get(layer)


def torch_class(module: Any, known: dict[type, str | None]) -> str | None:
    """Return the name of a module's class if it is one of torch.nn's own; `known` is a cache."""
    kind = type(module)
    if kind in known:
        return known[kind]
    if kind.__module__.startswith("torch.nn.modules."):
        known[kind] = kind.__name__
        return kind.__name__
    scripted = qualified_type(module)
    if scripted is None:
        known[kind] = None
        return None
    place, _, name = scripted.rpartition(".")
    return name if ".torch.nn.modules." in f".{place}." else None
