"""Joins the ranks, and exchanges data between them apart from the model's own traffic."""

from __future__ import annotations

import os
import pickle
from datetime import timedelta
from time import perf_counter_ns
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from hookcli.errors import ModelError, RequestError
from hookcli.models.bits import memory_of
from hookcli.spec.request import DistributedSpec, Rank
from hookcli.text import first_line

T = TypeVar("T")
_LATER = 60.0  # seconds after the command's own timeout, whose message is more helpful
_FILES, _FILES_PER_PEER = (
    16,
    3,
)  # descriptors that gloo opens: its own, and three connections a peer


def set_environment(rank: Rank) -> None:
    """Set the environment variables that torchrun sets, and this process's share of the cores."""
    if rank.store is None:
        return
    os.environ.update(
        RANK=str(rank.number),
        LOCAL_RANK=str(rank.local),
        WORLD_SIZE=str(rank.world),
        LOCAL_WORLD_SIZE=str(rank.local_world),
        GROUP_RANK="0",
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(max(1, (cores or 1) // rank.local_world))
    loopback = "lo" if os.path.isdir("/sys/class/net/lo") else "lo0"  # noqa: PTH112
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)  # other machines cannot connect


def backend_of(spec: DistributedSpec, device: torch.device) -> str:
    """Return the backend that sends tensors of this device."""
    if spec.backend is not None:
        return spec.backend
    return "nccl" if device.type == "cuda" else "gloo"


class Group:
    """All ranks. `mark` is the time when all had joined, in nanoseconds of this process's clock.

    `aside` is a process group for hookcli's own data, `exact` one for the exact mean of buckets.
    """

    def __init__(self, number: int, world: int, backend: str, device: torch.device) -> None:
        self.number, self.world, self.backend, self.device = number, world, backend, device
        self.aside = dist.new_group(backend="gloo") if world > 1 else None
        self.exact = dist.new_group(backend=backend) if world > 1 else None
        if world > 1:
            dist.barrier(group=self.aside)
        self.mark = perf_counter_ns()

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks, by rank.

        `all_gather_object` does the same, but requires NumPy.

        Raises
        ------
        ModelError : another rank has ended.
        """
        if self.world == 1:
            return [value]
        data = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        sizes = [int(size) for size in self._gathered(torch.tensor([data.numel()]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)
        padded[: data.numel()] = data
        parts = zip(self._gathered(padded), sizes, strict=True)
        return [pickle.loads(memory_of(part)[:size]) for part, size in parts]  # from our own ranks

    def _gathered(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        tensors = [torch.empty_like(tensor) for _ in range(self.world)]
        try:
            dist.all_gather(tensors, tensor, group=self.aside)
        except RuntimeError as error:
            raise ModelError(
                f"rank {self.number} lost the connection to the others: {first_line(str(error))}",
                place=f"rank {self.number}",
                hint="check why another rank ended",
            ) from None
        return tensors


def _check_free_files(world: int) -> None:
    """Open and close as many files as the connections need.

    gloo aborts the process when its listener cannot accept a connection for want of a descriptor.

    Raises
    ------
    OSError : the limit of open files is too low.
    """
    opened: list[int] = []
    try:
        while len(opened) < _FILES + _FILES_PER_PEER * (world - 1):
            opened += os.pipe()
    finally:
        for file in opened:
            os.close(file)


def join(rank: Rank, spec: DistributedSpec, device: torch.device) -> Group:
    """Join the other ranks.

    Raises
    ------
    RequestError, ModelError : torch does not support the backend, or the other ranks are missing.
    OSError : the limit of open files is too low for the connections.
    """
    backend = backend_of(spec, device)
    if not dist.is_available() or not dist.is_backend_available(backend):
        raise RequestError(
            f"this build of PyTorch does not support the backend '{backend}'",
            place=spec.place,
            hint="use gloo for the CPU, nccl for CUDA",
        )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    _check_free_files(rank.world)
    store = None if rank.store is None else dist.FileStore(rank.store, rank.world)  # type: ignore[attr-defined]
    options: dict[str, Any] = {} if store is None else {"store": store}
    try:
        dist.init_process_group(
            backend,
            rank=rank.number,
            world_size=rank.world,
            timeout=timedelta(seconds=rank.timeout + _LATER),
            **options,
        )
        return Group(rank.number, rank.world, backend, device)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"rank {rank.number} cannot connect to the others: {first_line(str(error))}",
            place=spec.place,
            hint="check that all ranks run the same command",
        ) from None
