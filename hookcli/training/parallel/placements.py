"""Where the parts of a tensor are: its placements, and the place of this rank in the mesh.

The tensor is a DTensor, or a parameter that FSDP1 has flattened.

Only attributes are read. No collective runs, and no process group is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from hookcli.report.distributed import MeshPlace
from hookcli.report.ranks.spans import spans_of


@dataclass(frozen=True, slots=True)
class Placed:
    """How a tensor is placed; a plain tensor has no placements."""

    placements: tuple[str, ...]
    mesh: MeshPlace | None


PLAIN = Placed((), None)


@dataclass(frozen=True, slots=True)
class FlatPart:
    """The part of a flattened parameter that this rank has.

    `shape` is that of the whole, `has` the number of elements of the part, and `names` are the
    parameters that a flat parameter consists of.
    """

    placed: Placed
    shape: tuple[int, ...]
    has: int
    names: tuple[str, ...] = ()


_flat: Any = WeakTensorKeyDictionary()
# By the ids of a mesh, which is kept, and of its placements.
_known: dict[tuple[int, Any], tuple[Any, Placed]] = {}


def is_dtensor(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is a DTensor, of which this rank has a part."""
    return getattr(tensor, "_local_tensor", None) is not None


def is_flattened(tensor: torch.Tensor) -> bool:
    """Return whether FSDP1 has made a parameter flat, or a part of a flat one."""
    return hasattr(tensor, "_fsdp_flattened") or getattr(tensor, "_is_flat_param", False)


def note_flat(parameter: torch.Tensor, part: FlatPart) -> None:
    """Note what this rank has of a parameter that FSDP1 has flattened."""
    _flat[parameter] = part


def flat_part(tensor: torch.Tensor) -> FlatPart | None:
    """Return what this rank has of a flattened parameter; None if it is none, or not known."""
    found: FlatPart | None = _flat.get(tensor) if is_flattened(tensor) else None
    return found


def placed(tensor: torch.Tensor) -> Placed:
    """Return the placements of a tensor: the same object for tensors that are placed alike."""
    if not is_dtensor(tensor):
        part = flat_part(tensor)
        return PLAIN if part is None else part.placed
    dtensor: Any = tensor
    mesh, placements = dtensor.device_mesh, dtensor.placements
    key = (id(mesh), placements)
    found = _known.get(key)
    if found is None:
        where = place_in(mesh)
        words = tuple(map(_word, placements))
        found = _known[key] = mesh, PLAIN if where is None else Placed(words, where)
    return found[1]


def place_in(mesh: Any) -> MeshPlace | None:
    """Return the place of this rank in a mesh; None if it is not in it."""
    at = mesh.get_coordinate()
    if at is None:
        return None
    sizes = tuple(int(size) for size in mesh.mesh.shape)
    names = mesh.mesh_dim_names or [f"dim {i}" for i in range(len(sizes))]
    ranks = [int(rank) for rank in mesh.mesh.reshape(-1).tolist()]
    return MeshPlace(tuple(names), sizes, tuple(int(i) for i in at), spans_of(ranks))


def _word(placement: Any) -> str:
    """Return a placement in the words of PyTorch: Shard(0), Replicate, Partial(sum)."""
    name = type(placement).__name__.lstrip("_")
    if placement.is_partial():
        return f"Partial({placement.reduce_op})"
    dim = getattr(placement, "dim", None)
    return name if dim is None else f"{name}({dim})"


def is_part(tensor: torch.Tensor) -> bool:
    """Return whether a rank has a part of a tensor: a shard of a DTensor or of FSDP1."""
    if is_flattened(tensor):
        part = flat_part(tensor)
        return part is None or part.placed is not PLAIN
    placements: Any = getattr(tensor, "placements", None)
    return placements is not None and not all(one.is_replicate() for one in placements)


def has_parts(parameters: Iterable[torch.Tensor]) -> bool:
    """Return whether this rank has parts of parameters."""
    return any(placed(parameter) is not PLAIN for parameter in parameters)
