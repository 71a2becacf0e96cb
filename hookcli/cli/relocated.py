"""What a command line names, as a file in another folder says it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def seen_from(folder: Path, source: str) -> str:
    """`path.py:attr` as a file in the folder says it: paths in a configuration are relative to it.

    What is no file, and an absolute path, stays as it is.
    """
    path, colon, attr = (source, "", "") if Path(source).exists() else source.rpartition(":")
    if not Path(path).is_file() or Path(path).is_absolute():
        return source
    return Path(os.path.relpath(path, folder)).as_posix() + colon + attr


def value_from(folder: Path, value: Any) -> Any:
    """A constructor argument, with the files of `{call: …}` as the folder sees them."""
    if isinstance(value, list):
        return [value_from(folder, one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: value_from(folder, one) for key, one in value.items()}
    if isinstance(found.get("call"), str):
        found["call"] = seen_from(folder, found["call"])
    return found
