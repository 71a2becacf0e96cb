"""Joins the parts that ranks have of one tensor, and finds out how the parts make up the whole.

A DTensor tells its placements. A plain tensor does not: on each dimension of the mesh it is a copy,
a slice or a part of a sum, which is found by comparing with the reference. A layout has a word for
each dimension of the mesh: `replicate`, `shard(1)`, `partial`, `mean`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from hookcli.refusals import raise_if_external
from hookcli.spec.compared.parallel import Mesh

COPY, PARTIAL, MEAN = "replicate", "partial", "mean"
Place: TypeAlias = tuple[int, ...]  # of a rank, along some dimensions of the mesh
Parts: TypeAlias = dict[Place, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Joined:
    """The whole tensor of all ranks beside the reference.

    `relative` is the norm of the difference, divided by the norm of the reference; None if the
    shapes differ. `fits`: it is within the limit. `declared` are the dimensions whose words are
    from a DTensor. `alike`: all ranks have the same values where nothing declares another layout.
    """

    layout: tuple[str, ...]
    declared: tuple[bool, ...]
    shape: tuple[int, ...]
    relative: float | None
    fits: bool
    alike: bool
    exact: bool = False


def distance(value: torch.Tensor, reference: torch.Tensor, floor: float = 0.0) -> float:
    """Return the norm of the difference over that of the reference, computed in float64.

    `floor` is the smallest norm to divide by. Values that are not numbers must be equal.
    """
    if value.shape != reference.shape:
        return math.inf
    if not (value.is_floating_point() or value.is_complex()):
        return 0.0 if torch.equal(value.to(reference.dtype), reference) else math.inf
    wide = torch.complex128 if reference.is_complex() else torch.float64
    a, b = value.to(wide), reference.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    away = torch.where(same, torch.zeros((), dtype=wide), a - b).norm().item()
    if away == 0:
        return 0.0
    norm = b[b.isfinite()].norm().item()
    size = max(norm, floor)
    found = away / size if size else math.inf
    return math.inf if math.isnan(found) else found


def whole_of_dtensors(entries: Mapping[int, dict[str, Any]], mesh: Mesh) -> tuple[Parts, Any]:
    """Join what is declared; return the rest by place, and (dimension, word) pairs.

    `entries` are the records of a tensor by rank. The places that remain are along the dimensions
    that the DTensor's mesh does not cover; all of them for a plain tensor.
    """
    rest: Parts = {}
    words: dict[int, str] = {}
    done: set[int] = set()
    for rank, entry in entries.items():
        if rank in done:
            continue
        if entry["placements"] is None:
            rest[mesh.coordinate(rank)] = entry["local"]
            done.add(rank)
            continue
        group = torch.tensor(entry["ranks"])
        ranks = [int(item) for item in group.reshape(-1)]
        done.update(ranks)
        if any(item not in entries for item in ranks):
            continue
        moved = [
            d for d in range(len(mesh.sizes))
            if len({mesh.coordinate(item)[d] for item in ranks}) > 1
        ]  # fmt: skip
        value, among = _joined(entries, group, entry["placements"])
        words.update(_words(group, mesh, moved, among))
        place = mesh.coordinate(rank)
        rest[tuple(-1 if d in moved else i for d, i in enumerate(place))] = value
    return rest, words


def _words(
    group: torch.Tensor, mesh: Mesh, moved: Sequence[int], among: Sequence[str]
) -> dict[int, str]:
    """Return the word of each dimension of the whole mesh that the DTensor's mesh covers."""
    found = {}
    for d, word in enumerate(among):
        line = group.movedim(d, 0).reshape(group.shape[d], -1)[:, 0]
        places = [mesh.coordinate(int(rank)) for rank in line]
        found.update({m: word for m in moved if len({place[m] for place in places}) > 1})
    return found


def _joined(
    entries: Mapping[int, dict[str, Any]], group: torch.Tensor, placements: list[list[Any]]
) -> tuple[torch.Tensor, list[str]]:
    """Join the parts of a DTensor along all dimensions of its mesh."""
    shape = tuple(group.shape)
    parts: Parts = {
        place: entries[int(group[place])]["local"]
        for place in itertools.product(*(range(size) for size in shape))
    }
    strided = [d for d, (kind, _) in enumerate(placements) if kind == "strided"]
    order = [*strided, *(d for d in reversed(range(len(shape))) if d not in strided)]
    for d in order:
        kind, of = placements[d]
        word = f"shard({of})" if kind in {"shard", "strided"} else COPY
        if kind == "partial":
            word = MEAN if of == "avg" else PARTIAL
        parts = combined(parts, d, word)
    words = [
        f"shard({of})" if kind in {"shard", "strided"} else PARTIAL if kind == "partial" else COPY
        for kind, of in placements
    ]
    return parts[tuple(-1 for _ in shape)], words


def combined(parts: Parts, dimension: int, word: str) -> Parts:
    """Join the parts along one dimension of the mesh, whose index becomes -1."""
    groups: dict[Place, list[tuple[int, torch.Tensor]]] = {}
    for place, tensor in parts.items():
        key = (*place[:dimension], -1, *place[dimension + 1 :])
        groups.setdefault(key, []).append((place[dimension], tensor))
    return {key: _one([t for _, t in sorted(found, key=lambda item: item[0])], word)
            for key, found in groups.items()}  # fmt: skip


def _one(tensors: list[torch.Tensor], word: str) -> torch.Tensor:
    if word == COPY or len(tensors) == 1:
        return tensors[0]
    if word.startswith("shard"):
        return torch.cat(tensors, int(word[6:-1]))
    total = torch.stack([t.to(torch.float64) for t in tensors]).sum(0)
    return total / len(tensors) if word == MEAN else total


def alike(parts: Parts, dimension: int, limit: float) -> bool:
    """Whether all parts along one dimension have the same values."""
    groups: dict[Place, list[torch.Tensor]] = {}
    for place, tensor in parts.items():
        groups.setdefault((*place[:dimension], -1, *place[dimension + 1 :]), []).append(tensor)
    return all(
        distance(tensor, found[0]) <= limit for found in groups.values() for tensor in found[1:]
    )


def join(
    entries: Mapping[int, dict[str, Any]],
    reference: torch.Tensor,
    mesh: Mesh,
    limit: float,
    *,
    words: Sequence[str] | None = None,
    floor: float = 0.0,
) -> Joined:
    """Return the whole of a tensor beside the reference, in the layout that fits best.

    With `words`, each plain dimension has this layout, as a gradient has that of its parameter.
    """
    parts, declared = whole_of_dtensors(entries, mesh)
    sizes = mesh.sizes
    open_ = [d for d in range(len(sizes)) if d not in declared and sizes[d] > 1]
    best: Joined | None = None
    for choice in _choices(parts, open_, reference, mesh, words):
        found = _tried(parts, dict(zip(open_, choice, strict=True)), declared, reference,
                       (limit, floor), sizes)  # fmt: skip
        if found is not None and (best is None or _rank(found) < _rank(best)):
            best = found
        if found is not None and found.fits:
            return found
    if best is not None:
        return best
    layout = tuple(declared.get(d, "?") for d in range(len(sizes)))
    shape = tuple(next(iter(parts.values())).shape) if parts else ()
    known = tuple(d in declared for d in range(len(sizes)))
    return Joined(layout, known, shape, None, fits=False, alike=True)


def _rank(found: Joined) -> tuple[bool, float]:
    return (found.relative is None, math.inf if found.relative is None else found.relative)


def _choices(
    parts: Parts,
    open_: Sequence[int],
    reference: torch.Tensor,
    mesh: Mesh,
    words: Sequence[str] | None,
) -> Iterator[tuple[str, ...]]:
    """Yield the layouts that are possible, the plainest first."""
    if words is not None:
        yield tuple(words[d] for d in open_)
        return
    shards = [f"shard({d})" for d in range(reference.dim())]
    options = []
    for d in open_:
        first = [MEAN] if d in mesh.of_data and not reference.dim() else []
        own = [*first, COPY, *shards, PARTIAL]
        options.append(own)
    yield from sorted(
        itertools.product(*options), key=lambda choice: sum(word == PARTIAL for word in choice)
    )


def _tried(
    parts: Parts,
    words: Mapping[int, str],
    declared: Mapping[int, str],
    reference: torch.Tensor,
    limits: tuple[float, float],
    sizes: Sequence[int],
) -> Joined | None:
    """Join in one layout; None if the shapes do not fit."""
    limit, floor = limits
    same = True
    joined = parts
    for d in sorted(words, reverse=True):
        if words[d] == COPY and not alike(joined, d, limit):
            same = False
        try:
            joined = combined(joined, d, words[d])
        except (RuntimeError, IndexError) as error:
            raise_if_external(error)
            return None
    if len(joined) != 1:
        return None
    whole = next(iter(joined.values()))
    if whole.shape != reference.shape:
        return None
    relative = distance(whole, reference, floor)
    if set(words.values()) == {COPY}:  # the rank that is farthest away
        relative = max(distance(part, reference, floor) for part in parts.values())
    layout = tuple(declared.get(d, words.get(d, COPY)) for d in range(len(sizes)))
    known = tuple(d in declared for d in range(len(sizes)))
    fits = same and relative <= limit
    return Joined(layout, known, tuple(whole.shape), relative, fits, same, relative == 0)
