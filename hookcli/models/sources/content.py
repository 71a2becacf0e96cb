"""Detect the kind of a file from its content; refuse files without a model that hookcli can run."""

from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.file_errors import COMPLETE, PYTHON_FILE
from hookcli.models.sources.torch_files import of_pickle, of_zip

_HEAD = 4096
_MOST = 1 << 24  # bytes of a text file that are read
_PICKLE = re.compile(rb"\x80[\x02-\x05]")

# The position of a magic number in a file, the magic number, and the kind of the file.
_MARKS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"version https://git-lfs.github.com/spec/", "lfs"),
    (0, b"\x89HDF\r\n", "hdf5"),
    (0, b"GGUF", "gguf"),
    (4, b"TFL3", "tflite"),
    (4, b"ET12", "executorch"),
    (0, b"\x93NUMPY", "numpy"),
    (0, b"ftrt", "tensorrt"),
    (0, b"ptrt", "tensorrt"),
    (0, b"\x7fELF", "library"),
    (0, b"\xcf\xfa\xed\xfe", "library"),
    (0, b"MZ", "library"),
    (0, b"\x1f\x8b", "compressed"),
    (0, b"BZh", "compressed"),
    (0, b"\xfd7zXZ", "compressed"),
    (0, b"\x28\xb5\x2f\xfd", "compressed"),
    (0, b"7z\xbc\xaf", "compressed"),
    (0, b"Rar!", "compressed"),
    (257, b"ustar", "tar"),
)
_SUFFIXES = {
    ".onnx": "onnx", ".pb": "tensorflow", ".pbtxt": "tensorflow", ".mlmodel": "coreml",
    ".msgpack": "flax", ".pyc": "bytecode", ".h5": "hdf5", ".tflite": "tflite", ".gguf": "gguf",
    ".ipynb": "notebook", ".json": "config", ".yaml": "config", ".yml": "config",
    ".toml": "config", ".safetensors": "safetensors",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Content:
    """The kind of a file. `detail` describes it further; `names` are its modules."""

    kind: str
    detail: str = ""
    names: tuple[str, ...] = ()


def identify(path: Path) -> Content:
    """Return the kind of a file: "python", "torchscript", "state_dict" and so on.

    Raises
    ------
    OSError : the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
    if not head:
        return Content("empty" if path.suffix != ".py" else "python")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Content(*of_zip(path))
    if _PICKLE.match(head) and not is_safetensors(head, size):
        return Content(*of_pickle(path))
    for at, mark, kind in _MARKS:
        if head.startswith(mark, at):
            return Content(kind)
    if is_safetensors(head, size):
        return Content("safetensors")
    return _of_text_or_suffix(path, head)


def _of_text_or_suffix(path: Path, head: bytes) -> Content:
    if path.suffix == ".py":
        return Content("python")
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return Content("html")
    if start.startswith(b"<?xml") and b"<net " in start:
        return Content("openvino")
    if _is_onnx(path):
        return Content("onnx")
    if start.startswith(b"{") and (kind := _of_json(path)):
        return Content(kind)
    if path.suffix in _SUFFIXES:
        return Content(_SUFFIXES[path.suffix])
    return Content("python" if _is_source(path) else "unknown")


def is_safetensors(head: bytes, size: int) -> bool:
    """Whether a file of this size, which begins so, is safetensors: a length, then its header.

    The length may begin as a pickle does.
    """
    length = int.from_bytes(head[:8], "little")
    return head[8:9] == b"{" and length <= max(size, 1 << 27)


def _of_json(path: Path) -> str | None:
    """Return the purpose of a JSON file; None if it is not JSON."""
    try:
        data = json.loads(_beginning(path))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return "config"
    if "cells" in data and "nbformat" in data:
        return "notebook"
    return "index" if "weight_map" in data else "config"


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MOST)


def _is_source(path: Path) -> bool:
    try:
        text = _beginning(path).decode("utf-8-sig")
        return "\0" not in text and bool(ast.parse(text).body)
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return False


def identify_folder(path: Path) -> str:
    """Return the kind of a folder, from the files in it."""
    names = {entry.name for entry in path.iterdir()}
    if ".metadata" in names and any(name.endswith(".distcp") for name in names):
        return "distributed_checkpoint"
    if "saved_model.pb" in names:
        return "saved_model"
    if "config.json" in names and any(
        name.startswith(("model", "pytorch_model")) for name in names
    ):
        return "pretrained"
    return "coreml" if path.suffix == ".mlpackage" else "folder"


# ONNX has no magic number: it is detected by the wire format of its message.

_FIELDS = {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}  # of ModelProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VERSION, _GRAPH = (1, _VARINT), (7, _BYTES)
_MOST_FIELDS = 1000  # at the top


def _is_onnx(path: Path) -> bool:
    """Whether the file has the fields of a ModelProto, with a version and a graph."""
    fields: set[tuple[int, int]] = set()
    size = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(_MOST_FIELDS):
            if file.tell() >= size:
                break
            field = _field(file)
            if field is None or field[0] not in _FIELDS or file.tell() > size:
                return False
            if not fields and field != _VERSION:
                return False
            fields.add(field)
    return {_VERSION, _GRAPH} <= fields


def _field(file: IO[bytes]) -> tuple[int, int] | None:
    """Read the number and type of the field that begins here, and skip the field."""
    tag = _varint(file)
    if tag is None:
        return None
    kind = tag & 7
    if kind == _VARINT:
        if _varint(file) is None:
            return None
    elif kind == _BYTES:
        length = _varint(file)
        if length is None:
            return None
        file.seek(length, 1)
    elif kind in {_FIXED64, _FIXED32}:
        file.seek(8 if kind == _FIXED64 else 4, 1)
    else:
        return None
    return tag >> 3, kind


def _varint(file: IO[bytes]) -> int | None:
    value = 0
    for shift in range(0, 64, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None


# What each file without a model is, and what to do.

_SOURCE = f"{PYTHON_FILE}: `model.py` or `model.py:Net`"
_WEIGHTS = "pass the Python source with these weights: `model.py --weights {path}`"
_EXPORTED_FROM = "pass the PyTorch source that it was made from: `model.py` or `model.py:Net`"

_WHAT: dict[str, tuple[str, str]] = {
    "state_dict": ("a state dict: weights without a model", _WEIGHTS),
    "checkpoint": ("a checkpoint (keys {detail}): weights without a model", _WEIGHTS),
    "dict": (
        "a dict without a model (keys {detail})",
        "pass the Python source; `--weights` accepts a dict of tensors, or one under `state_dict`",
    ),
    "pickle": (
        "{detail} that torch.save wrote, not a model",
        "pass the Python source; `--input {path}` passes these values to a model",
    ),
    "plain_pickle": (
        "a pickle that torch.save did not write: {detail}",
        "save it again with `torch.save(model, PATH)`, or pass its Python source",
    ),
    "safetensors": ("a safetensors file: weights without a model", _WEIGHTS),
    "index": (
        "an index of weights in several files",
        _WEIGHTS,
    ),
    "gguf": (
        "a GGUF file: weights for llama.cpp",
        "pass the PyTorch source, or `transformers:AutoModel.from_pretrained`",
    ),
    "mobile": (
        "a TorchScript archive for mobile, without its code: it cannot be inspected",
        "pass the archive that `torch.jit.save` wrote, or the Python source",
    ),
    "aotinductor": (
        "an AOTInductor package: compiled code without modules",
        "pass the .pt2 of `torch.export.save` that it was compiled from, or the Python source",
    ),
    "executorch": ("an ExecuTorch program", _EXPORTED_FROM),
    "mar": (
        "a TorchServe archive (.mar)",
        "unpack it with `unzip {path}`, then pass the model file or the archive in it",
    ),
    "onnx": ("an ONNX model", _EXPORTED_FROM),
    "tensorrt": ("a TensorRT engine", _EXPORTED_FROM),
    "openvino": ("an OpenVINO model", _EXPORTED_FROM),
    "coreml": ("a Core ML model", _EXPORTED_FROM),
    "hdf5": ("an HDF5 file, as Keras writes", _SOURCE),
    "keras": ("a Keras model", _SOURCE),
    "tflite": ("a TensorFlow Lite model", _SOURCE),
    "tensorflow": ("a TensorFlow graph", _SOURCE),
    "saved_model": ("a TensorFlow SavedModel", _SOURCE),
    "flax": ("a Flax checkpoint", _SOURCE),
    "numpy": (
        "a file of NumPy arrays",
        "pass the Python source; `--input {path}` passes an array to a model",
    ),
    "library": (
        "a compiled library",
        f"{PYTHON_FILE}; the key `libraries` of a configuration loads operators",
    ),
    "wheel": ("a Python wheel", "install it with pip, then write `package.module:Net`"),
    "notebook": (
        "a notebook",
        "convert it to Python first: `jupyter nbconvert --to script {path}`",
    ),
    "bytecode": ("compiled Python", "pass the .py file that it was compiled from"),
    "lfs": ("a Git LFS pointer, not the file itself", "run `git lfs pull` to download the file"),
    "html": ("a web page: the download failed", "download the file again, and check its size"),
    "compressed": ("a compressed file", "unpack it, then pass the file in it"),
    "tar": ("a tar archive", "unpack it with `tar xf {path}`, then pass the file in it"),
    "zip": ("a zip archive of an unknown kind", "unpack it, then pass the file in it"),
    "config": ("a configuration, not a model", PYTHON_FILE),
    "empty": ("empty", PYTHON_FILE),
    "unknown": ("not a kind of file that hookcli reads", _SOURCE),
    "distributed_checkpoint": (
        "a distributed checkpoint: weights without a model",
        "convert it: `python -m torch.distributed.checkpoint.format_utils dcp_to_torch "
        "{path} weights.pt`",
    ),
    "pretrained": (
        "a directory of pretrained weights",
        "write `hf:{path}`, and `--weights {path}` for its weights; for its tensors alone, pass "
        "the file of weights in it",
    ),
}


def refusal(content: Content, path: str, source: str) -> RequestError | ModelError:
    """Return the error for a file of this kind: status 3 if it is damaged, else 2."""
    if content.kind == "corrupt":
        return ModelError(
            f"{path} is {content.detail}",
            place=source,
            hint=COMPLETE,
        )
    what, hint = _WHAT[content.kind]
    return RequestError(
        f"{path} is {what.format(detail=content.detail)}",
        place=source,
        hint=hint.format(path=path),
    )
