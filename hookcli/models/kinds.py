"""What MODEL names: a Python file or module, or a file that its content tells. Torch-free."""

from __future__ import annotations

import ast
import difflib
import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hookcli.errors import RequestError


@dataclass(frozen=True, slots=True)
class PythonFile:
    """`path.py[:attr]`."""

    path: str
    attr: str | None


@dataclass(frozen=True, slots=True)
class PythonModule:
    """`package.module:attr`."""

    module: str
    attr: str


ArchiveKind: TypeAlias = Literal["torchscript", "exported", "package"]


@dataclass(frozen=True, slots=True)
class Archive:
    """`file.pt`, of a kind that its content tells; `inner` is what stands after the colon.

    That is a resource of a torch.package archive, `package/resource.pkl`.
    """

    path: str
    kind: ArchiveKind
    inner: str | None = None


Source: TypeAlias = PythonFile | PythonModule | Archive

_FILE = re.compile(r"(.+?\.py)(?::([A-Za-z_][\w.]*))?")
_PACKED = re.compile(r"(.+\.(?:pt|pth|pkg|zip)):(.+)")
_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")

_REFUSED = {
    "torchscript": ("a TorchScript archive", "name the Python source that it was made from"),
    "exported": ("a torch.export archive (.pt2)", "name the Python source that it was made from"),
    "package": ("a torch.package archive", "name the Python source that it was made from"),
    "pickle": (
        "a pickle made by torch.save: weights, or a whole module",
        "name the Python source and give the weights as --weights {path}",
    ),
    "safetensors": (
        "a safetensors file: weights without a model",
        "name the Python source and give the weights as --weights {path}",
    ),
    "onnx": ("an ONNX model", "name the PyTorch source that it was exported from"),
    "hdf5": ("an HDF5 file, as Keras writes", "name a PyTorch model's Python source"),
    "empty": ("empty", "name a Python file that defines a model"),
    "zip": ("a zip archive of an unknown kind", "name a Python file that defines a model"),
    "config": ("a configuration, not a model", "name a Python file that defines a model"),
    "unknown": (
        "no file of a kind that hookcli reads",
        "name a Python file: model.py or model.py:Net",
    ),
}


def identify(path: Path) -> str:
    """The kind of a file, by its content: "python", "torchscript", "safetensors" and so on.

    Raises
    ------
    OSError : the file cannot be read.

    """
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return "empty" if path.suffix != ".py" else "python"
    if head.startswith(b"PK"):
        return _zip_kind(path)
    if head.startswith(b"\x89HDF"):
        return "hdf5"
    if head[0] == 0x80 and _is_pickle(head):
        return "pickle"
    if len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 30:
        return "safetensors"
    if path.suffix == ".onnx":
        return "onnx"
    if path.suffix in {".json", ".yaml", ".yml", ".toml"}:
        return "config"
    return "python" if path.suffix == ".py" or _is_source(path) else "unknown"


def _zip_kind(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError):
        return "zip"
    if ".data/extern_modules" in names:
        return "package"
    if "constants.pkl" in names:
        return "torchscript"
    if "archive_format" in names or "serialized_exported_program.json" in names:
        return "exported"
    return "pickle" if "data.pkl" in names else "zip"


def _is_pickle(head: bytes) -> bool:
    try:
        next(pickletools.genops(head))
    except (ValueError, StopIteration):
        return False
    return True


def _is_source(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
        return "\0" not in text and bool(ast.parse(text).body)
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return False


def _missing(source: str, path: Path) -> RequestError:
    near: list[str] = []
    if path.parent.is_dir():
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix == path.suffix]
        near = difflib.get_close_matches(path.name, names, n=1)
    hint = (
        f"did you mean {(path.parent / near[0]).as_posix()}?"
        if near
        else "MODEL is path.py, path.py:Net or package.module:Net"
    )
    return RequestError(f"there is no file {path.as_posix()}", place=source, hint=hint)


def parse_source(source: str) -> Source:
    """What MODEL names, checked as far as that needs neither torch nor the file's code.

    Raises
    ------
    RequestError : nothing is there, or it is of a kind that is refused.

    """
    whole = Path(source)
    match = None if whole.is_file() else _FILE.fullmatch(source)
    path, attr = (Path(match[1]), match[2]) if match else (whole, None)
    packed = None if whole.exists() or match else _PACKED.fullmatch(source)
    inner = packed[2] if packed else None
    path = Path(packed[1]) if packed else path
    if path.is_dir():
        scripts = sorted(entry.name for entry in path.glob("*.py"))
        hint = (
            f"name a file in it: {(path / scripts[0]).as_posix()}"
            if scripts
            else ("name a Python file that defines a model")
        )
        raise RequestError(f"{path.as_posix()} is a directory", place=source, hint=hint)
    if not path.exists():
        module = _MODULE.fullmatch(source)
        if module and match is None:
            return PythonModule(module[1], module[2])
        raise _missing(source, path)
    if not path.is_file():
        raise RequestError(
            f"{path.as_posix()} is no ordinary file",
            place=source,
            hint="name a Python file that defines a model",
        )
    try:
        kind = identify(path)
    except OSError as error:
        raise RequestError(
            f"{path.as_posix()} cannot be read: {error.strerror}",
            place=source,
            hint="check the file's permissions",
        ) from None
    if kind in {"torchscript", "exported", "package"}:
        return Archive(str(path), kind, inner)  # type: ignore[arg-type]  # one of the three
    if kind != "python":
        what, hint = _REFUSED[kind]
        raise RequestError(
            f"{path.as_posix()} is {what}", place=source, hint=hint.format(path=path.as_posix())
        )
    return PythonFile(str(path), attr)
