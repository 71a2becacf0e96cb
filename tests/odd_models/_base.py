"""What the files of models share: the type of an entry, `Shelf`, deterministic tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Odd:
    """One unusual model: how to build it, its batch, and a note on what is unusual.

    With `fake` it runs under FakeTensorMode after it was built on the meta device and its
    parameters and buffers were replaced by fake ones.
    """

    build: Callable[[], nn.Module]
    batch: Callable[[], tuple[tuple, dict]]
    fake: bool
    note: str


Build = TypeVar("Build", bound=Callable[[], nn.Module])


class Shelf(dict[str, Odd]):
    """The entries of a file, by name."""

    def add(
        self,
        name: str,
        note: str,
        batch: Callable[[], tuple[tuple, dict]],
        *,
        fake: bool = True,
    ) -> Callable[[Build], Build]:
        """Decorate a module class without init arguments, or a function that builds one."""

        def put(build: Build) -> Build:
            if name in self:
                raise ValueError(f"two odd models are called {name!r}")
            self[name] = Odd(build, batch, fake, note)
            return build

        return put


def merge(*shelves: Shelf) -> dict[str, Odd]:
    """All entries of several shelves; a name may occur once."""
    merged = Shelf()
    for shelf in shelves:
        for name, odd in shelf.items():
            merged.add(name, odd.note, odd.batch, fake=odd.fake)(odd.build)
    return dict(merged)


def call(*args: Any, **kwargs: Any) -> tuple[tuple, dict]:
    """What a batch returns: the arguments of one call of the model."""
    return args, kwargs


def t(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor with the same values each time."""
    return torch.linspace(-1, 1, math.prod(shape)).reshape(shape).to(dtype)


def ids(*shape: int, high: int = 8) -> Tensor:
    """Token ids below `high`, the same each time."""
    return (torch.arange(math.prod(shape)) % high).reshape(shape)
