"""Tensors that another program wrote, as a model that returns them whatever it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hookcli.comparison.ports.dump_files import dump_files
from hookcli.models.files.tensors import read_tensors


class Dumps(nn.Module):
    """Returns the tensors of a file or a folder, each under its name.

    The name is that of the file without its suffix, and below it the name in the file, if it has
    several tensors.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._found: dict[str, torch.Tensor] = {}
        for file in dump_files(Path(path)):
            for name, tensor in _tensors(read_tensors(str(file), path), ""):
                whole = f"{file.stem}.{name}" if name else file.stem
                self._found.setdefault(whole, tensor)

    def forward(self, *_: Any, **__: Any) -> dict[str, torch.Tensor]:
        """Return the tensors."""
        return dict(self._found)


def _tensors(value: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors in a value, with their names."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _tensors(item, f"{name}.{key}" if name else f"{key}")
