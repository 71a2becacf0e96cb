"""Features of torch and of libraries that consist of hooks, such as weight norm and pruning.

A model needs their hooks to compute what it should. They are named for the feature, and are not
removed unless that is asked for by the feature's name.
"""

from __future__ import annotations

from typing import Any, Final

from hookcli.models.existing_hooks.function_names import HookFunction

PARAMETRIZE: Final = "parametrize"
ACCELERATE: Final = "accelerate"
DDP: Final = "ddp"
TORCHSCRIPT: Final = "torchscript"
TORCH: Final = "torch"

# The modules that define the hooks of each feature, by prefix.
_DEFINED_IN = {
    "torch.nn.utils.weight_norm": "weight_norm",
    "torch.nn.utils.spectral_norm": "spectral_norm",
    "torch.nn.utils.prune": "prune",
    "torch.nn.utils.parametriz": PARAMETRIZE,
    "torch.nn.modules.lazy": "lazy",
    "torch.nn.parallel.distributed": DDP,
    "torch.distributed._composable.replicate": DDP,
    "torch.distributed.fsdp": "fsdp",
    "torch.distributed.tensor": "tensor_parallel",
    "accelerate.": ACCELERATE,
}
# The attribute of a feature's object that names its tensor.
_NAMED_BY = {"weight_norm": "name", "spectral_norm": "name", "prune": "_tensor_name"}
FEATURES: tuple[str, ...] = (*dict.fromkeys(_DEFINED_IN.values()), TORCHSCRIPT, TORCH)
"""All features. "torch" is any other function of torch."""


def feature_of(function: HookFunction) -> str | None:
    """Return the feature that a hook is a part of, or None for a hook of the user's."""
    for module in function.modules:
        for prefix, feature in _DEFINED_IN.items():
            if module.startswith(prefix):
                return feature
    own = function.modules[0]
    return TORCH if own == "torch" or own.startswith("torch.") else None


def computed_tensor(hook: Any, feature: str | None) -> str | None:
    """Return the name of the tensor that a hook of weight norm, spectral norm or pruning makes.

    `hook` is the object that torch calls before each forward, or one that refers to it by `fn`.
    """
    if feature not in _NAMED_BY:
        return None
    attributes = object.__getattribute__(hook, "__dict__")
    if "fn" in attributes:
        attributes = object.__getattribute__(attributes["fn"], "__dict__")
    name = attributes.get(_NAMED_BY[feature])
    return name if type(name) is str else None


def is_ours(function: HookFunction) -> bool:
    """Whether hookcli attached the hook."""
    own = function.modules[0]
    return own == "hookcli" or own.startswith("hookcli.")
