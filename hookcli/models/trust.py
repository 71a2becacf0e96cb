"""Whether a `.pt2` can act when torch opens it, told before torch does.

torch reads some parts of one with plain pickle, and falls back to it for all others.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from hookcli.errors import ModelError, RequestError
from hookcli.models.graphs import why_graph_acts
from hookcli.models.zips import below_top, unzipped

_PROGRAM = "serialized_exported_program.json"  # torch before 2.8: no folder, and other names
_CONFIGS = ("_weights_config.json", "_constants_config.json")
_OBJECTS = ("custom_obj_", "opaque_obj_")  # what torch reads with a pickle of any content


def check_exported(path: Path, *, trusted: bool, source: str | None = None) -> None:
    """Go on where a `.pt2` may be opened: it is trusted, or nothing in it can act.

    `source` is MODEL as it was typed, for the error's place.

    Raises
    ------
    RequestError : something in it can run code, and it is not trusted.
    ModelError : it is damaged.
    """
    if trusted:
        return
    try:
        with unzipped(path) as archive:
            reason = next(_reasons(archive), None)
    except (OSError, RuntimeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"{path.name} cannot be read: {' '.join(str(error).split())}",
            place=source or path.as_posix(),
            hint="is the file whole? fetch or save it anew",
        ) from None
    if reason is not None:
        raise RequestError(
            f"opening {path.name} can run code: {reason}",
            place=source or path.as_posix(),
            hint="add --trust if you know where it comes from",
        )


def _reasons(archive: zipfile.ZipFile) -> Iterator[str]:
    names = archive.namelist()
    yield from _ambiguous(names)
    for full in names:
        name = full if _PROGRAM in names else below_top(full)
        if name == _PROGRAM or name.startswith("models/"):
            yield from why_graph_acts(_json(archive, full))
        elif name.startswith("data/aotinductor/"):
            yield "it holds a compiled library"
        elif name.endswith(_CONFIGS):
            yield from _listed(archive, full)
        elif _is_pickle(name):
            yield from _unsafe(archive, full)


def _ambiguous(names: list[str]) -> Iterator[str]:
    """What one reader takes for another member than the other: torch looks names up caselessly."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            yield f"it holds {name} twice"
        seen.add(name.casefold())
    tops = {name.partition("/")[0] for name in names}
    if _PROGRAM not in names and len(tops) > 1:
        yield "it holds more than one folder"


def _is_pickle(name: str) -> bool:
    """Whether torch reads a member as a pickle, whatever its config says."""
    if name.startswith(("data/weights/", "data/constants/")):
        return name.endswith(".pt")
    return name.startswith(("data/sample_inputs/", "serialized_"))


def _listed(archive: zipfile.ZipFile, full: str) -> Iterator[str]:
    """What a list of weights or constants says is a pickle."""
    folder = full.rpartition("/")[0]
    config = _json(archive, full).get("config")
    for entry in (config if isinstance(config, dict) else {}).values():
        name = str(entry.get("path_name", ""))
        if name.startswith(_OBJECTS):
            yield f"{name} is an object"
        elif entry.get("use_pickle", True):
            yield from _unsafe(archive, f"{folder}/{name}")


def _unsafe(archive: zipfile.ZipFile, full: str) -> Iterator[str]:
    """The reason, where a member does not load as tensors and plain values alone."""
    data = archive.read(full)
    if not data:
        return
    try:
        torch.load(io.BytesIO(data), map_location="meta", weights_only=True)
    except Exception as error:  # noqa: BLE001  # a doctored pickle raises anything
        yield f"{below_top(full) or full} does not load as tensors alone ({_first(error)})"


def _json(archive: zipfile.ZipFile, full: str) -> dict[str, Any]:
    found = json.loads(archive.read(full))
    if not isinstance(found, dict):
        raise ValueError(f"{full} is no mapping")
    return found


def _first(error: BaseException) -> str:
    """What torch says of it, without its advice."""
    text = str(error).split("WeightsUnpickler error:")[-1]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line.split(". ")[0].rstrip(".") or type(error).__name__
