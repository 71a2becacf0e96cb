"""Detect the kind of zip archives and pickles without loading them: torch writes a dozen."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hookcli.models.sources.file_errors import reason_of
from hookcli.models.sources.pickle_scan import Value, read_pickle
from hookcli.models.sources.zip_members import below_top, check_expansion, member_named, unzipped

_Kind: TypeAlias = tuple[str, str, tuple[str, ...]]  # the kind, a detail, names of modules

_MAGIC = (
    b"\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"  # the magic number of torch's old format
)
_OF_TORCH = {"package", "exported", "aotinductor", "torchscript", "mobile", "pickle"}
STATE_KEYS = ("state_dict", "model_state_dict", "model")  # of the state dict in a checkpoint


def of_zip(path: Path) -> _Kind:
    """Return the kind of a zip archive. A damaged one is "corrupt"."""
    try:
        with unzipped(path) as archive:
            whole = archive.namelist()
            kind = _by_names(whole)
            if kind in _OF_TORCH:
                check_expansion(archive)
            if kind != "pickle":
                return kind, "", ()
            with archive.open(member_named(archive, "data.pkl")) as file:
                return _of_value(read_pickle(file))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  # decompressors raise many types for damage
        return "corrupt", f"a zip archive that cannot be read ({reason_of(error)})", ()


def _by_names(whole: list[str]) -> str:
    names = {below_top(name) for name in whole}
    folders = {name.partition("/")[0] for name in names}
    if ".data/extern_modules" in names:
        return "package"
    if "archive_format" in names:
        compiled = any(name.startswith("data/aotinductor/") for name in names)
        models = any(name.startswith("models/") for name in names)
        return "aotinductor" if compiled and not models else "exported"
    if "serialized_exported_program.json" in whole:
        return "exported"
    if "constants.pkl" in names or "bytecode.pkl" in names:
        return "torchscript" if "code" in folders and "data.pkl" in names else "mobile"
    if "data.pkl" in names:
        return "pickle"
    return _others(whole)


def _others(whole: list[str]) -> str:
    """Return the kind of an archive that torch did not write."""
    if "MAR-INF/MANIFEST.json" in whole:
        return "mar"
    if "model.weights.h5" in whole:
        return "keras"
    if any(name.endswith(".dist-info/WHEEL") for name in whole):
        return "wheel"
    if whole and all(name.endswith(".npy") for name in whole):
        return "numpy"
    return "zip"


def of_pickle(path: Path) -> _Kind:
    """Return the kind of a file of pickles: torch's old format, or any other."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                file.seek(0)
                return _plain(read_pickle(file))
            file.seek(0)
            for _ in range(3):  # the magic number, the version, the machine's sizes
                read_pickle(file)
            kind = _of_value(read_pickle(file))
            read_pickle(file)  # the names of storages
            return kind
    except ValueError as error:
        return "corrupt", f"a pickle that cannot be read ({reason_of(error)})", ()


def _of_value(value: Value) -> _Kind:
    """Return the kind of a value that torch.save wrote."""
    if value.is_module:
        return "pickled", value.name, ("",)
    if value.kind == "dict":
        return _of_dict(value)
    if value.is_tensor:
        return "pickle", "a tensor", ()
    if value.kind == "object":
        return "pickle", f"an object of {value.name}", ()
    return "pickle", "a list or tuple" if value.kind == "items" else "a plain value", ()


def _of_dict(value: Value) -> _Kind:
    entries = value.entries
    modules = tuple(key for key, entry in entries if key and entry.is_module)
    if modules:
        return "pickled", ", ".join(entry.name for key, entry in entries if key in modules), modules
    if all(entry.is_tensor for _, entry in entries):
        return "state_dict", "", ()
    keys = ", ".join(key for key, _ in entries[:6] if key)
    has_state = any(key in STATE_KEYS and entry.kind == "dict" for key, entry in entries)
    return "checkpoint" if has_state else "dict", keys, ()


def _plain(value: Value) -> _Kind:
    """Return the kind of a pickle that torch.save did not write."""
    if value.is_module:
        return "plain_pickle", f"a module of {value.name}", ()
    if value.kind in {"object", "global"} and value.name:
        return "plain_pickle", f"an object of {value.name}", ()
    return "plain_pickle", "plain values", ()


@dataclass(frozen=True, slots=True)
class Resource:
    """A pickle in an archive, as `package/name.pkl`; `type` is its class, "" if unknown."""

    inner: str
    is_module: bool
    type: str = ""


def resources(path: Path) -> tuple[Resource, ...]:
    """Return the pickles of a torch.package archive, in its order, without running any of it.

    Raises
    ------
    OSError, ValueError, zipfile.BadZipFile : it is damaged.
    """
    with unzipped(path) as archive:
        check_expansion(archive)
        return tuple(
            _resource(archive, name)
            for name in archive.namelist()
            if name.endswith(".pkl") and not below_top(name).startswith(".data/")
        )


def _resource(archive: zipfile.ZipFile, name: str) -> Resource:
    with archive.open(name) as file:
        try:
            value = read_pickle(file)
        except ValueError:  # not a pickle, or not one of torch
            return Resource(below_top(name), is_module=False)
    return Resource(below_top(name), value.is_module, value.name)
