"""Models that a library builds: `hf:FOLDER`, `hf:ORG/NAME`, `timm:NAME`, `torchvision:NAME`.

Torch-free: only the form of the name and the files of a local folder are looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from hookcli.errors import RequestError
from hookcli.models.sources.config_folders import check_folder, missing_folder

Library: TypeAlias = Literal["hf", "timm", "torchvision"]
_PREFIXED = re.compile(r"(hf|timm|torchvision):(.*)", re.DOTALL)
_HUB_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_ON_HUB = re.compile(rf"((?:{_HUB_PART}/)?{_HUB_PART})(?:@([\w./-]+))?", re.ASCII)
_CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class ZooModel:
    """A model that `library` builds from a name, without weights.

    For "hf", `name` is a local folder if `is_folder`, else a repository of the hub, at `revision`.
    """

    library: Library
    name: str
    is_folder: bool = False
    revision: str | None = None


def zoo_model(source: str) -> ZooModel | None:
    """Return the model that a source with the prefix of a library names; None without a prefix.

    A file of exactly this name, and a module of the user's named `hf`, come first.

    Raises
    ------
    RequestError : nothing can have this name, or the folder does not contain a configuration of
        transformers.
    ModelError : its configuration is damaged.
    """
    match = _PREFIXED.fullmatch(source)
    if match is None or Path(source).exists():
        return None
    library, name = cast(Library, match[1]), match[2]
    if library != "hf":
        return ZooModel(library, name)
    folder = hf_folder(source)
    if folder is not None:
        check_folder(folder, source)
        return ZooModel("hf", folder.as_posix(), is_folder=True)
    if name.isidentifier() and (Path("hf.py").is_file() or Path("hf/__init__.py").is_file()):
        return None
    on_hub = _ON_HUB.fullmatch(name)
    if on_hub is None or ".." in name or "--" in on_hub[1] or Path(name).is_file():
        raise missing_folder(name, source)
    return ZooModel("hf", on_hub[1], revision=on_hub[2])


def hf_folder(source: str) -> Path | None:
    """Return the local folder of `hf:FOLDER` or `hf:FOLDER/config.json`; None if it is not one."""
    prefix, _, name = source.partition(":")
    if prefix != "hf" or not name or "\0" in name:
        return None
    path = Path(os.path.expanduser(name))  # noqa: PTH111  # Path.expanduser raises for an unknown user
    if path.name == _CONFIG and path.is_file():
        return path.parent
    return path if path.is_dir() else None


def with_folder(source: str, change: Callable[[Path], str]) -> str:
    """Return `hf:FOLDER` with the folder that `change` returns; any other source unchanged."""
    folder = hf_folder(source)
    return source if folder is None else f"hf:{change(folder)}"


def checked_arguments(model: ZooModel, names: tuple[str | None, ...], place: str) -> None:
    """Check that the values for a configuration have names.

    Raises
    ------
    RequestError : one has none.
    """
    if model.library == "hf" and None in names:
        raise RequestError(
            "a configuration accepts no arguments by position",
            place=place,
            hint="name its key, as in `--arg num_hidden_layers=2`",
        )
