"""What one rank gets: its part of the batch, and the gradient that its backward starts from."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from hookcli.errors import RequestError
from hookcli.models.batch import Batch, map_batch
from hookcli.models.nested import argument_leaves
from hookcli.spec.compared.parallel import Mesh
from hookcli.text import counted


@dataclass(frozen=True, slots=True)
class Portions:
    """The part of a rank: part `index` of `count` along the dimensions of data parallelism.

    `samples` is the number of samples in the whole batch; None if no tensor has any.
    """

    mesh: Mesh
    place: tuple[int, ...]
    samples: int | None

    @property
    def count(self) -> int:
        """The number of parts of the batch."""
        return prod(self.mesh.sizes[d] for d in self.mesh.of_data)

    @property
    def index(self) -> int:
        """The number of this rank's part."""
        index = 0
        for d in self.mesh.of_data:
            index = index * self.mesh.sizes[d] + self.place[d]
        return index

    def part(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return this rank's samples of a tensor; tensors without a batch dimension as they are."""
        if self.count == 1 or not tensor.dim() or tensor.shape[0] != self.samples:
            return tensor
        return tensor.chunk(self.count)[self.index]


def portions_of(batch: Batch, mesh: Mesh, rank: int, place: str) -> Portions:
    """Return the part of a rank.

    Raises
    ------
    RequestError : the number of samples is not divisible by that of the parts.
    """
    tensors = [t for _, t, _ in argument_leaves(batch.args, batch.kwargs) if t.dim()]
    samples = int(tensors[0].shape[0]) if tensors else None
    found = Portions(mesh, mesh.coordinate(rank), samples)
    if found.count > 1 and samples is not None and samples % found.count:
        raise RequestError(
            f"{counted(samples, 'sample')} cannot be split over {found.count} ranks of data",
            place=place,
            hint=f"pass `--batch-size {found.count}`, or an `--input` that can be split",
        )
    return found


def part_of_batch(batch: Batch, portions: Portions) -> Batch:
    """Return the samples of this rank."""
    return map_batch(batch, lambda tensor: portions.part(tensor).clone())


def start_of(output: torch.Tensor, whole: torch.Tensor, portions: Portions) -> torch.Tensor | None:
    """Return the gradient for an output of this rank; None if the shapes do not tell its part.

    `whole` is the gradient of the reference's output. Ranks of data parallelism average their
    gradients, so the gradient of a part is multiplied by the number of parts.
    """
    dtensor: Any = output if hasattr(output, "_local_tensor") else None
    shape = tuple(output.shape)
    gradient = whole.to(output.dtype)
    if not shape:
        return _placed(gradient, dtensor) if gradient.dim() == 0 else None
    if portions.count > 1 and shape != tuple(gradient.shape):
        if gradient.shape[0] % portions.count:
            return None
        gradient = gradient.chunk(portions.count)[portions.index] * portions.count
    if dtensor is not None:
        return _placed(gradient, dtensor) if tuple(gradient.shape) == shape else None
    return _slice(gradient, shape, portions)


def _slice(
    gradient: torch.Tensor, shape: tuple[int, ...], portions: Portions
) -> torch.Tensor | None:
    """Return the slice that a plain tensor of this shape is, if other dimensions split it."""
    if tuple(gradient.shape) == shape:
        return gradient
    mesh = portions.mesh
    if gradient.dim() != len(shape):
        return None
    for d in (d for d in range(len(mesh.sizes)) if d not in mesh.of_data):
        size = mesh.sizes[d]
        for i, (have, want) in enumerate(zip(gradient.shape, shape, strict=True)):
            if have == want * size and size > 1:
                return _slice(gradient.chunk(size, i)[portions.place[d]], shape, portions)
    return None


def _placed(gradient: torch.Tensor, dtensor: Any) -> torch.Tensor:
    """Return the gradient as a DTensor that is placed as the output."""
    if dtensor is None:
        return gradient
    from torch.distributed.tensor import DTensor, Replicate, Shard

    placements = [Replicate() if item.is_partial() else item for item in dtensor.placements]
    local = gradient
    place = dtensor.device_mesh.get_coordinate()
    for d, item in enumerate(placements):
        if isinstance(item, Shard):
            parts = local.chunk(dtensor.device_mesh.size(d), item.dim)
            local = parts[place[d]] if place[d] < len(parts) else parts[0].narrow(item.dim, 0, 0)
    return DTensor.from_local(
        local.contiguous(),
        dtensor.device_mesh,
        placements,
        run_check=False,
        shape=gradient.shape,
        stride=gradient.stride(),
    )
