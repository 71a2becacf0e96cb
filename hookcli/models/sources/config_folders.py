"""Folders of Hugging Face models: what is in one, and why transformers cannot build it.

Torch-free, and the same for a local folder and for the list of files of a repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hookcli.errors import HookcliError, RequestError
from hookcli.models.sources.file_errors import COMPLETE, damaged_file, file_not_found, reason_of
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read

CONFIG = "config.json"
_MOST = 1 << 24  # bytes of a configuration that are read
_PREFIX = "write `hf:FOLDER` with a folder that contains config.json, or `hf:ORG/NAME`"
_PYTHON = "pass a Python file that builds the model"


def missing_folder(name: str, source: str) -> HookcliError:
    """Return the error for a name that is neither a folder nor the form of a hub's repository."""
    if not name:
        return RequestError("hf: requires a folder or a name", place=source, hint=_PREFIX)
    path = Path(name)
    if "\0" not in name and path.is_file():
        return RequestError(f"{name} is a file, not a folder", place=source, hint=_PREFIX)
    return file_not_found(name, source, _PREFIX)


def check_folder(folder: Path, source: str) -> None:
    """Check that a folder has a configuration of a transformers model.

    Raises
    ------
    RequestError : it is another kind of folder.
    ModelError : its configuration is not JSON.
    """
    if (folder / CONFIG).is_file():
        check_config(read_config_file(folder / CONFIG, source), folder.as_posix(), source)
        return
    try:
        names = [entry.relative_to(folder).as_posix() for entry in folder.iterdir()]
        names += [entry.relative_to(folder).as_posix() for entry in folder.glob(f"*/{CONFIG}")]
    except OSError as error:
        message = cannot_read(folder.as_posix(), error.strerror)
        hint = "check the permissions of the folder"
        raise RequestError(message, place=source, hint=hint) from None
    raise no_config(names, folder.as_posix(), source, base=_base_of_adapter(folder))


def read_config_file(path: Path, source: str) -> dict[str, Any]:
    """Return the content of a config.json.

    Raises
    ------
    RequestError : it cannot be read, or is not an object.
    ModelError : it is not JSON.
    """
    shown = path.as_posix()
    try:
        data = json.loads(read_bytes(shown, _MOST))
    except OSError as error:
        hint = "check the file's permissions"
        raise RequestError(cannot_read(shown, error.strerror), place=source, hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise damaged_file(shown, reason_of(error), source) from None
    if not isinstance(data, dict):
        raise RequestError(
            f"{shown} must be a JSON object, got {type(data).__name__}", place=source, hint=COMPLETE
        )
    return data


def check_config(data: dict[str, Any], folder: str, source: str) -> None:
    """Check that a configuration names its architecture, or code that does.

    Raises
    ------
    RequestError : it is a configuration of another library, or names nothing.
    """
    if isinstance(data.get("model_type"), str) or isinstance(data.get("auto_map"), dict):
        return
    if "_class_name" in data:
        kind = f"{data['_class_name']!s:.60}"
        raise RequestError(
            f"{folder} is a model of diffusers ({kind}), which hf: does not build",
            place=source,
            hint="pass a Python file that builds it with diffusers: "
            f"`{kind}.from_config({kind}.load_config(FOLDER))`",
        )
    if isinstance(data.get("architecture"), str) and "pretrained_cfg" in data:
        raise RequestError(
            f"{folder} is a model of timm, not of transformers",
            place=source,
            hint=f"write `timm:{data['architecture']}`",
        )
    raise RequestError(
        f"{folder}/{CONFIG} does not name a model_type",
        place=source,
        hint='add the key that names the architecture, such as `"model_type": "bert"`',
    )


def no_config(
    names: Iterable[str], folder: str, source: str, *, base: str | None = None
) -> RequestError:
    """Return the error for a folder without config.json: what it is, and what to pass instead.

    `names` are its files; `base` is the model that an adapter was trained on.
    """
    files = sorted(names)
    parts = [name.rpartition("/")[0] for name in files if name.count("/") == 1]
    parts = [part for part in parts if f"{part}/{CONFIG}" in files]
    message, hint = _described(files, parts, folder, base)
    return RequestError(f"{folder} {message}", place=source, hint=hint)


def _described(
    files: list[str], parts: list[str], folder: str, base: str | None
) -> tuple[str, str]:
    """Return what the folder is, and the hint."""
    if not files:
        return "is an empty folder", _PREFIX
    if "model_index.json" in files:
        encoders = [part for part in parts if part.startswith("text_encoder")]
        hint = f"pass a part of it: `hf:{folder}/{encoders[0]}`" if encoders else _PYTHON
        return "is a pipeline of diffusers, not one model", hint
    if "adapter_config.json" in files:
        hint = f"pass its base model: `hf:{base}`" if base else "pass its base model"
        return "is an adapter of PEFT, not a whole model", hint
    if "modules.json" in files:
        module = parts[0] if parts else "0_Transformer"
        hint = f"pass its transformers model: `hf:{folder}/{module}`"
        return "is a model of sentence-transformers", hint
    suffixes = {Path(name).suffix for name in files}
    if ".gguf" in suffixes and not suffixes & {".safetensors", ".bin"}:
        return "contains GGUF files, weights for llama.cpp", "pass the original model's folder"
    if suffixes & {".safetensors", ".bin", ".pth", ".pt"}:
        hint = f"add the model's {CONFIG}, or pass its Python source with `--weights`"
        return f"contains weights, but no {CONFIG}", hint
    if parts:
        return f"does not contain {CONFIG}", f"pass a folder in it: `hf:{folder}/{parts[0]}`"
    return f"is not a Hugging Face model: it does not contain {CONFIG}", _PREFIX


def _base_of_adapter(folder: Path) -> str | None:
    try:
        data = json.loads(read_bytes((folder / "adapter_config.json").as_posix(), _MOST))
    except (OSError, ValueError, RecursionError):
        return None
    base = data.get("base_model_name_or_path") if isinstance(data, dict) else None
    return base if isinstance(base, str) and base else None
