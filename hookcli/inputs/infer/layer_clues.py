"""Clues to the model's input in its layers and attributes, before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.inputs.infer.source_clues import Use, uses
from hookcli.models import module_tree
from hookcli.models.converted.quantized import is_layer
from hookcli.models.nested import shape_of
from hookcli.models.torchscript.twins import twin_of
from hookcli.spec.inputs import Fill, TensorSpec
from hookcli.torch_private import ConvNd, NormBase

LENGTH = 16  # of a sequence
_WAVE = 64
_SIDE = 64  # of an image that may have any size
_CUBE = 16
_COLORS = 3
_SIZES = ("img_size", "image_size", "input_size", "resolution", "input_resolution")
_CHANNELS = ("num_channels", "in_chans", "in_channels", "channels", "input_channels")


# The sizes of torch's layers that the search reads. A traced module without weights has none, and a
# subclass may lack them or compute them.
_SIZES_OF: dict[type[nn.Module] | tuple[type[nn.Module], ...], tuple[str, ...]] = {
    ConvNd: ("in_channels", "kernel_size"),
    nn.Linear: ("in_features",),
    (nn.Embedding, nn.EmbeddingBag): ("num_embeddings",),
    nn.RNNBase: ("input_size", "batch_first"),
    nn.RNNCellBase: ("input_size",),
    nn.MultiheadAttention: ("embed_dim",),
    (nn.LayerNorm, nn.RMSNorm): ("normalized_shape",),
    NormBase: ("num_features",),
    nn.GroupNorm: ("num_channels",),
    nn.Bilinear: ("in1_features",),
}


def has_sizes(module: Any) -> bool:
    """Whether a layer has the sizes of its class, so that they can be read."""
    try:
        return all(
            hasattr(module, name)
            for kinds, names in _SIZES_OF.items()
            if isinstance(module, kinds)
            for name in names
        )
    except Exception:  # noqa: BLE001  # a property of the user's class may raise anything
        return False


def ids(shape: tuple[int, ...], high: int) -> TensorSpec:
    """Return a spec of indices below `high`."""
    return TensorSpec(shape, "int64", Fill("range", 0, max(high, 1)))


@dataclass(frozen=True, slots=True)
class Clues:
    """The model as a source of clues. `batch` is the number of samples."""

    root: nn.Module
    batch: int
    graph: bool = False  # the rows of the inputs are nodes
    function: Callable[..., Any] | None = None  # what runs, if it is not forward

    def number(self, names: tuple[str, ...]) -> int | None:
        """Return the first positive integer with one of these names, on the model or its config."""
        config = getattr(self.root, "config", None)
        holders = [self.root, config, *self._nested(config), *self.root.children()]
        for holder in holders:
            for name in names:
                value = (
                    holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
                )
                if isinstance(value, (tuple, list)) and value:
                    value = value[-1]
                if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                    return value
        return None

    @staticmethod
    def _nested(config: Any) -> list[Any]:
        parts = ("vision_config", "text_config", "audio_config", "encoder", "decoder")
        configs = [getattr(config, part, None) for part in parts]
        return [part for part in configs if part is not None]

    def side(self) -> int:
        """The side of an image: the one that the model names, else one that most models accept."""
        return self.number(_SIZES) or _SIDE

    def image(self, channels: int | None = None) -> TensorSpec:
        """A batch of images."""
        if channels is None:
            conv = next(
                (m for m in self.layers() if isinstance(m, nn.Conv2d | nn.LazyConv2d)), None
            )
            channels = (
                conv.in_channels if isinstance(conv, nn.Conv2d) and conv.in_channels else None
            )
        channels = channels or self.number(_CHANNELS) or 3
        return TensorSpec((self.batch, channels, self.side(), self.side()))

    def inputs_of_each(self, attribute: str) -> list[list[TensorSpec]]:
        """Inputs that each part of a list of modules accepts, as its first layer tells."""
        parts = getattr(self.root, attribute, None)
        if not isinstance(parts, nn.ModuleList | nn.Sequential | list | tuple):
            return []
        modules = [part for part in parts if isinstance(part, nn.Module)]
        layers = (next(replace(self, root=module).layers(), None) for module in modules)
        return [[] if layer is None else inputs_of(layer, self) for layer in layers]

    def layers(self) -> Iterator[nn.Module]:
        """Leaf modules and attention modules with their sizes, in the order of registration."""
        for module, _ in module_tree.modules(self.root):
            if is_layer(module):
                twin = twin_of(module)
                if has_sizes(twin):
                    yield twin

    def use(self, name: str) -> Use:
        """How forward, or what runs in its place, uses a parameter, from its source."""
        own = self.function or vars(self.root).get("forward")
        forward = getattr(own, "__func__", own)
        if forward is None:
            forward = inspect.getattr_static(type(self.root), "forward", None)
        return uses(forward).get(name, Use()) if inspect.isfunction(forward) else Use()

    def embeddings(self) -> list[nn.Embedding | nn.EmbeddingBag]:
        """The embedding tables, in the order of registration."""
        return [m for m in self.layers() if isinstance(m, nn.Embedding | nn.EmbeddingBag)]

    def token_ids(self) -> TensorSpec:
        """Token ids for the first embedding table, else for the vocabulary of the config.

        Without both, the ids are rows of each matrix that is a parameter of the user's own modules:
        one of them may be the table.
        """
        tables = self.embeddings()
        high = tables[0].num_embeddings if tables else self.number(("vocab_size",))
        return ids((self.batch, LENGTH), high or min(self._rows(), default=100))

    def _rows(self) -> Iterator[int]:
        for parameter, _, owner in module_tree.tensors(self.root, "_parameters"):
            if type(owner).__module__.startswith("torch.") or is_lazy(parameter):
                continue
            shape = shape_of(parameter)
            if len(shape) == 2 and shape[0] is not None and shape[0] > 1:
                yield shape[0]

    def generic(self) -> list[TensorSpec]:
        """Inputs that the first layers accept, the likeliest first."""
        specs: list[TensorSpec] = []
        for module in self.layers():
            specs += [spec for spec in inputs_of(module, self) if spec not in specs]
            if len(specs) > 8:
                break
        first = next((p for p in self.root.parameters()), None)
        if not specs and first is not None and first.dim():
            specs.append(TensorSpec((self.batch, first.shape[-1])))
        return [*specs, TensorSpec((self.batch, LENGTH)), self.image(3)]


def inputs_of(module: nn.Module, clues: Clues) -> list[TensorSpec]:
    """Inputs that this layer accepts, the likeliest first.

    A lazy layer, whose sizes are 0, accepts any number of features or channels.
    """
    specs = _inputs_of(module, clues)
    for i, spec in enumerate(specs):
        if 0 in spec.shape:
            any_size = _COLORS if len(spec.shape) > 3 else LENGTH
            shape = tuple(size or any_size for size in spec.shape)
            specs[i] = replace(spec, shape=shape)
    return specs


def _inputs_of(module: nn.Module, clues: Clues) -> list[TensorSpec]:
    b, t = clues.batch, LENGTH
    match module:
        case nn.ConvTranspose1d() | nn.ConvTranspose2d() | nn.ConvTranspose3d():
            return [TensorSpec((b, module.in_channels, *[8] * len(module.kernel_size)))]
        case nn.Conv1d():
            return [TensorSpec((b, module.in_channels, _WAVE))]
        case nn.Conv2d():
            return [clues.image(module.in_channels)]
        case nn.Conv3d():
            return [TensorSpec((b, module.in_channels, _CUBE, 32, 32))]
        case nn.Linear():
            return [TensorSpec((b, module.in_features)), TensorSpec((b, t, module.in_features))]
        case nn.Embedding() | nn.EmbeddingBag():
            high = module.num_embeddings
            tables = [ids((b, t), high), ids((b,), high)]
            return tables[::-1] if clues.graph else tables
        case nn.RNNBase():
            return [
                TensorSpec(
                    (b, t, module.input_size) if module.batch_first else (t, b, module.input_size)
                )
            ]
        case nn.RNNCellBase():
            return [TensorSpec((b, module.input_size))]
        case nn.MultiheadAttention():
            return [TensorSpec((b, t, module.embed_dim))]
        case nn.LayerNorm() | nn.RMSNorm():
            return [TensorSpec((b, t, *module.normalized_shape))]
        case nn.BatchNorm1d() | nn.InstanceNorm1d():
            n = module.num_features
            return [TensorSpec((b, n)), TensorSpec((b, n, _WAVE))]
        case nn.BatchNorm2d() | nn.InstanceNorm2d():
            return [clues.image(module.num_features)]
        case nn.BatchNorm3d() | nn.InstanceNorm3d():
            return [TensorSpec((b, module.num_features, _CUBE, 32, 32))]
        case nn.GroupNorm():
            return [clues.image(module.num_channels)]
        case nn.Bilinear():
            return [TensorSpec((b, module.in1_features))]
    return []
