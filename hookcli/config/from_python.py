"""A configuration that is given as Python data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_document(config: Any) -> dict[str, Any] | None:
    """Return the document that a file would contain; None if `config` is the name of a file.

    A list contains the checks.

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
    """Return tuples as lists, because YAML has only lists."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
