"""Names of modules and parameters without what wrappers put before them."""

from __future__ import annotations

from collections.abc import Collection

from hookcli.report.ranks.wrapper_names import WRAPPERS

_WRAPPERS = WRAPPERS | {"module"}  # that of DistributedDataParallel


def plain_name(name: str, known: Collection[str]) -> str:
    """Return the name in the model that is not wrapped; `known` are the names of that model."""
    parts = name.split(".") if name else []
    while ".".join(parts) not in known:
        at = next((i for i, part in enumerate(parts) if part in _WRAPPERS), None)
        if at is None:
            break
        del parts[at]
    return ".".join(parts)
