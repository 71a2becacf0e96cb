"""What this rank has of the parameters that FullyShardedDataParallel (FSDP1) has flattened.

FSDP1 joins the parameters of a module to one flat parameter, and gives each rank a slice of it.
With `use_orig_params=True` the optimizer has the parameters themselves, whose values are the
elements in that slice; else it has the flat parameters. Only attributes are read: no collective
runs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from hookcli.report.distributed import MeshPlace
from hookcli.report.ranks.spans import spans_of
from hookcli.training.parallel.placements import (
    PLAIN,
    FlatPart,
    Placed,
    is_flattened,
    note_flat,
    place_in,
)

_MODULE = "torch.distributed.fsdp"
_SPLIT, _COPIED = "FlatShard", "Replicate"


def find_flat_parameters(parameters: Iterable[torch.Tensor]) -> None:
    """Note the parts of parameters that FSDP1 has flattened. The objects are searched for it."""
    module = sys.modules.get(_MODULE)
    if module is None or not any(map(is_flattened, parameters)):
        return
    kind: Any = module.FullyShardedDataParallel
    for one in gc.get_objects():
        if issubclass(type(one), kind) and getattr(one, "_handle", None) is not None:
            for parameter, part in _parts(one):
                note_flat(parameter, part)


def _parts(wrapper: Any) -> Iterator[tuple[torch.Tensor, FlatPart]]:
    handle = wrapper._handle
    flat = handle.flat_param
    where = _placed(wrapper) if handle.uses_sharded_strategy else PLAIN
    if flat._params is None:
        ranks = dist.get_world_size(handle.process_group) if where is not PLAIN else 1
        has = int(flat.numel() if where is PLAIN else flat._sharded_size.numel())
        yield flat, FlatPart(where, (has * ranks,), has, tuple(flat._fqns))
        return
    for parameter, shape, info in zip(
        flat._params, flat._shapes, flat._shard_param_infos, strict=True
    ):
        has = int(info.numel_in_shard or 0) if where is not PLAIN else shape.numel()
        yield parameter, FlatPart(where, tuple(shape), has)


def _placed(wrapper: Any) -> Placed:
    """Return how the slices of a flat parameter are placed; PLAIN if that is not known."""
    mesh = wrapper._device_mesh
    own = dist.get_process_group_ranks(wrapper.process_group)
    between = getattr(wrapper, "_inter_node_pg", None)
    if mesh is not None:
        where = place_in(mesh)
        words = (_COPIED, _SPLIT) if mesh.ndim > 1 else (_SPLIT,)
        return PLAIN if where is None else Placed(words[-mesh.ndim :], where)
    me = dist.get_rank()
    if between is None:
        return Placed((_SPLIT,), MeshPlace(("fsdp",), (len(own),), (own.index(me),), spans_of(own)))
    rows = dist.get_process_group_ranks(between)
    return Placed((_COPIED, _SPLIT), _grid(own, rows, me))


def _grid(own: Sequence[int], rows: Sequence[int], me: int) -> MeshPlace:
    """Return the mesh of HYBRID_SHARD without a mesh: equal groups, as far apart as `rows`."""
    ranks = [rank + row - me for row in rows for rank in own]
    at = (rows.index(me), own.index(me))
    return MeshPlace(("replicate", "shard"), (len(rows), len(own)), at, spans_of(ranks))
