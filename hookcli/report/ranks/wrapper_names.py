"""The names of the modules that wrappers put between a module and the one that it wraps."""

from __future__ import annotations

# torch.compile, checkpoint_wrapper and FullyShardedDataParallel.
WRAPPERS = frozenset({"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"})


def without_wrappers(name: str) -> str:
    """Return a qualified name without the parts that wrappers add."""
    if "._" not in f".{name}":
        return name
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)
