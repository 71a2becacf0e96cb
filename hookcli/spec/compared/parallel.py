"""A run of a model on several ranks by a plan of the user's, beside the reference. Torch-free."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import Literal, TypeAlias

from hookcli.errors import RequestError

COMPARED = "parallel"  # the measurement of the process that compares
MOST_RANKS = 8  # each is a process on this machine
_DIMENSION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):([0-9]{1,4})")
_FORM = "write names and sizes, as in `mesh=tp:2` or `mesh=dp:2,tp:2`"
_OF_DATA = re.compile(r"(dp|ddp|hsdp|fsdp|data|replicate|shard)(_.*)?")

Role: TypeAlias = Literal["reference", "rank", "judge"]


@dataclass(frozen=True, slots=True)
class Mesh:
    """The names and sizes of the dimensions of a device mesh; ranks are in row-major order."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return prod(self.sizes)

    @property
    def of_data(self) -> tuple[int, ...]:
        """The dimensions along which the batch is split: dp, fsdp, data, replicate and others."""
        return tuple(i for i, name in enumerate(self.names) if _OF_DATA.fullmatch(name))

    def coordinate(self, rank: int) -> tuple[int, ...]:
        """Return the place of a rank, an index for each dimension."""
        place = []
        for size in reversed(self.sizes):
            rank, index = divmod(rank, size)
            place.append(index)
        return tuple(reversed(place))

    def text(self) -> str:
        """Return the mesh as it is typed: "dp:2,tp:2"."""
        return ",".join(f"{name}:{size}" for name, size in zip(self.names, self.sizes, strict=True))


@dataclass(frozen=True, slots=True)
class ParallelPlan:
    """The function `apply(model, mesh) -> model` that the user names, and the mesh it gets."""

    function: str
    mesh: Mesh
    place: str = field(default="", compare=False)  # for errors


@dataclass(frozen=True, slots=True)
class ParallelRun:
    """One process of a comparison: the reference, one of the ranks, or the one that compares.

    They exchange the batch, weights and recorded tensors through files in `folder`.
    """

    role: Role
    plan: ParallelPlan
    folder: str
    tolerances: tuple[tuple[str, float], ...] = ()  # the user's limits by globs on names


def parse_mesh(text: str, place: str) -> Mesh:
    """Return the mesh of "dp:2,tp:2".

    Raises
    ------
    RequestError : it has another form, a name occurs twice, or there are too few or many ranks.
    """
    names: list[str] = []
    sizes: list[int] = []
    for part in text.split(","):
        match = _DIMENSION.fullmatch(part.strip())
        if match is None:
            raise RequestError(
                f"mesh must be names with sizes, got '{text}'", place=place, hint=_FORM
            )
        if match[1] in names:
            raise RequestError(f"duplicate dimension '{match[1]}'", place=place, hint=_FORM)
        names.append(match[1])
        sizes.append(int(match[2]))
    ranks = prod(sizes)
    if not 2 <= ranks <= MOST_RANKS:
        raise RequestError(
            f"mesh must have 2 to {MOST_RANKS} ranks, got {ranks}", place=place, hint=_FORM
        )
    return Mesh(tuple(names), tuple(sizes))
