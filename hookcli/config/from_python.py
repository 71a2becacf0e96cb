"""A configuration that is given as data, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_document(config: Any) -> dict[str, Any] | None:
    """What a file would hold: of a list, its items are the checks. None of a file's name.

    >>> as_document(["finite"])
    {'checks': [{'rule': 'finite'}]}
    """
    if isinstance(config, Mapping):
        return {str(key): _plain(item) for key, item in config.items()}
    if not isinstance(config, list | tuple):
        return None
    return {
        "checks": [{"rule": item} if isinstance(item, str) else _plain(item) for item in config]
    }


def _plain(value: Any) -> Any:
    """Tuples as lists: YAML has no others."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
