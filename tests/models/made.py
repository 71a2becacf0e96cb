"""Files of every kind that torch writes, of one small model, and doctored ones."""

from __future__ import annotations

import io
import os
import pickle
import sys
import types
import warnings
import zipfile
from pathlib import Path

import torch
import torch.package
from torch import nn

from tests.torch_version import require_torch

SOURCE = """
import torch
from torch import nn
from packed_helper import double

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        if len(x) == 3:
            raise ValueError("three")
        return double(self.fc(x)) if len(x) == 5 else self.fc(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()
    def forward(self, x):
        return {"y": self.second(self.first(x))}
"""
BLOCK, NET, RAISES = 6, 15, 12  # lines of the classes, and of the raise


class Acts:
    """Unpickling it makes a folder, which tells that it got to act."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self._folder,)


def modules(folder: Path) -> types.ModuleType:
    """SOURCE as a module that can be imported, with its helper; forget() takes both away."""
    (folder / "packed_net.py").write_text(SOURCE)
    (folder / "packed_helper.py").write_text("def double(x): return 2 * x\n")
    sys.path.insert(0, str(folder))
    try:
        import packed_net
    finally:
        sys.path.remove(str(folder))
    return packed_net


def forget() -> None:
    for name in ("packed_net", "packed_helper"):
        sys.modules.pop(name, None)


def package(path: Path, resources: dict[str, object], *, mock: str = "packed_helper") -> Path:
    """A torch.package archive with these pickles, by `package/resource.pkl`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.package.PackageExporter(str(path)) as exporter:
            exporter.mock(mock, allow_empty=True)
            exporter.intern("packed_*", allow_empty=True)
            exporter.extern("**", allow_empty=True)
            for inner, value in resources.items():
                folder, _, name = inner.rpartition("/")
                exporter.save_pickle(folder.replace("/", "."), name, value)
    return path


def script(path: Path, model: nn.Module) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(model), str(path))
    return path


def exported(path: Path, model: nn.Module, *args: torch.Tensor, **more) -> Path:
    require_torch("2.8", "exported programs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(model, args, **more), str(path))
    return path


def rewritten(path: Path, changes: dict[str, bytes | None], add: dict[str, bytes] | None = None):
    """The zip with other contents of members, by their name below the archive's folder."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    top = next(iter(members)).partition("/")[0]
    for name, data in {**changes, **(add or {})}.items():
        if data is None:
            del members[f"{top}/{name}"]
        else:
            assert name in (add or {}) or f"{top}/{name}" in members, name
            members[f"{top}/{name}"] = data
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        top = archive.namelist()[0].partition("/")[0]
        return archive.read(f"{top}/{name}")


def saved(value: object) -> bytes:
    """What torch.save makes of it."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def acting_pickle(folder: Path) -> bytes:
    return pickle.dumps(Acts(folder), 2)
