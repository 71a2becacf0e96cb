"""A configuration that is given as Python data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from hookcli.errors import RequestError
from hookcli.spec.yaml import DEEPEST

_HINT = "pass a path, a list of rules, or a mapping with the keys of a configuration"


def as_document(config: Any) -> dict[str, Any] | None:
    """Return the document that a file would contain; None if `config` is the name of a file.

    A list contains the checks.

    Raises
    ------
    RequestError : `config` is of another type, or a value in it cannot be written in a file.

    >>> as_document(["finite"])
    {'checks': [{'rule': 'finite'}]}
    """
    if isinstance(config, str | os.PathLike):
        return None
    if isinstance(config, Mapping):
        document: dict[str, Any] = _plain(config, "", 0)
        return document
    if not isinstance(config, list | tuple):
        got = type(config).__name__
        raise RequestError(
            f"config must be a path, a sequence or a mapping, got {got}",
            place="config",
            hint=_HINT,
        )
    checks = [{"rule": item} if isinstance(item, str) else item for item in config]
    return {"checks": _plain(checks, "checks", 0)}


def python_number(value: Any) -> Any:
    """Return a number of NumPy, or a tensor of no dimensions, as a number; any other as it is.

    >>> import torch
    >>> python_number(torch.tensor(3))
    3
    """
    if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
        return value
    try:
        return value.item()
    except (RuntimeError, NotImplementedError):  # a tensor without values
        return value


def _plain(value: Any, path: str, depth: int) -> Any:
    """Return the value as YAML has it: tuples as lists, the numbers of other libraries as Python's.

    `path` is the key path of the value, `depth` the number of levels around it.
    """
    if depth > DEEPEST:
        raise RequestError(
            f"the configuration is nested deeper than {DEEPEST} levels",
            place="config",
            hint="remove levels; a list may not contain itself",
        )
    if isinstance(value, Mapping):
        return {
            str(key): _plain(item, f"{path}.{key}" if path else str(key), depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    value = python_number(value)
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if value is None:
        return None
    raise RequestError(
        f"{path or 'config'} must be plain data, got {type(value).__name__}",
        place="config",
        hint="use strings, numbers, lists and mappings, as in a configuration file",
    )


# YAML has these types, but not their subclasses.
_SCALARS: Sequence[tuple[Any, Any]] = (
    (bool, bool), (str, str), (os.PathLike, os.fspath), (int, int), (float, float),
)  # fmt: skip
