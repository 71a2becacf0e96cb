"""Which ranks have the pieces of a tensor that is placed in a mesh, and which have copies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookcli.report.distributed import MeshPlace
from hookcli.report.report import ParameterRow
from hookcli.report.rows.events import figures, number
from hookcli.report.rows.statistics import combined
from hookcli.report.values import Number

_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def is_sharded(placement: str) -> bool:
    """Return whether a placement splits the tensor: Shard or StridedShard."""
    return "Shard" in placement


def is_pending(placements: Sequence[str]) -> bool:
    """Return whether the sum over a dimension of the mesh is not made yet."""
    return any(placement.startswith("Partial") for placement in placements)


def piece_of(placements: Sequence[str], mesh: MeshPlace) -> tuple[int, ...]:
    """Return the coordinates of a rank in the dimensions that split the tensor."""
    return tuple(
        at for placement, at in zip(placements, mesh.at, strict=True) if is_sharded(placement)
    )


@dataclass(frozen=True, slots=True)
class Pieces:
    """The ranks of a mesh by the piece that they have; `absent` are pieces of which no one is."""

    ranks: dict[tuple[int, ...], list[int]]
    absent: tuple[tuple[int, ...], ...]

    @property
    def firsts(self) -> list[int]:
        """One rank for each piece."""
        return [ranks[0] for ranks in self.ranks.values()]


def pieces(placements: Sequence[str], places: Mapping[int, MeshPlace]) -> Pieces:
    """Return the pieces of a tensor from the places of the ranks that are there."""
    found: dict[tuple[int, ...], list[int]] = {}
    for rank, mesh in sorted(places.items()):
        found.setdefault(piece_of(placements, mesh), []).append(rank)
    sizes = next(iter(places.values())).sizes
    split = [
        range(size)
        for placement, size in zip(placements, sizes, strict=True)
        if is_sharded(placement)
    ]
    absent = [piece for piece in itertools.product(*split) if piece not in found]
    return Pieces(found, tuple(absent))


def are_together(mine: MeshPlace, theirs: MeshPlace | None) -> bool:
    """Return whether two ranks are in the same mesh."""
    return theirs is not None and (mine.ranks, mine.names, mine.sizes) == (
        theirs.ranks, theirs.names, theirs.sizes,
    )  # fmt: skip


def in_one_mesh(row: ParameterRow, others: Mapping[int, ParameterRow]) -> dict[int, ParameterRow]:
    """Return the rows of the ranks that are in the mesh of a row, and place it as that does."""
    mesh = row.mesh
    if mesh is None:
        return {}
    return {
        rank: other
        for rank, other in others.items()
        if other.placements == row.placements and are_together(mesh, other.mesh)
    }


def value_of(figure: Number | None) -> float | None:
    """Return a figure as a float; None if it is not known."""
    return None if figure is None else _WORDS[figure] if isinstance(figure, str) else float(figure)


def hypot_of(norms: Iterable[Number | None]) -> Number | None:
    """Return the norm of all from those of parts; None if one is not known."""
    known = [value_of(norm) for norm in norms]
    if any(norm is None for norm in known):
        return None
    values = [norm for norm in known if norm is not None]
    return number(math.nan if any(map(math.isnan, values)) else math.hypot(*values))


def whole_statistics(parts: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the statistics of a tensor from those of its pieces; None if one is not known."""
    known = [_floats(part) for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    whole = combined(known)
    if whole is not None and any(math.isnan(part["norm"]) for part in known):
        whole["norm"] = math.nan  # also beside an infinite one
    return figures(whole)


def _floats(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _WORDS.get(value, value)
        if isinstance(value, str)
        else _floats(value)
        if isinstance(value, Mapping)
        else value
        for name, value in part.items()
    }
