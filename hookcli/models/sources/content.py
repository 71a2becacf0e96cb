"""Detect the kind of a file from its content, with details for messages."""

from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from hookcli.models.sources.onnx import is_onnx
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
    if _PICKLE.match(head):
        return Content(*of_pickle(path))
    for at, mark, kind in _MARKS:
        if head.startswith(mark, at):
            return Content(kind)
    if _is_safetensors(head, size):
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
    if is_onnx(path):
        return Content("onnx")
    if start.startswith(b"{") and (kind := _of_json(path)):
        return Content(kind)
    if path.suffix in _SUFFIXES:
        return Content(_SUFFIXES[path.suffix])
    return Content("python" if _is_source(path) else "unknown")


def _is_safetensors(head: bytes, size: int) -> bool:
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
