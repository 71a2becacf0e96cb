"""A script that trains each architecture in one way: `training.py MODE TRUTH [NETS]`.

MODE is single, ddp, fsdp, hsdp, fsdp1, hybrid1, tp, sp, 2d, pp or interleaved. Rank 0 writes what
`full_tensor` says of each gradient and weight to the file TRUTH.

The collectives are the script's own.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections import OrderedDict
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

sys.path.insert(0, str(Path(__file__).parent))
from nets import NETS, Attention, Mlp

STEPS = 3


def mesh_of(mode: str, world: int):
    """Return the mesh of a mode."""
    if mode in {"hsdp", "hybrid1", "2d"}:
        names = ("dp", "tp") if mode == "2d" else ("replicate", "shard")
        return init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=names)
    return init_device_mesh(
        "cpu", (world,), mesh_dim_names=("tp" if mode in {"tp", "sp"} else "dp",)
    )


def split(model: nn.Module, mesh, *, sequence: bool) -> None:
    """Split the layers of blocks over the mesh."""
    for block in list(model.modules()):
        if isinstance(block, Mlp):
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            if sequence:
                plan = {
                    "norm": SequenceParallel(),
                    "up": ColwiseParallel(input_layouts=Shard(1)),
                    "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
                }
            parallelize_module(block, mesh, plan)
            if sequence:
                parallelize_module(
                    block,
                    mesh,
                    PrepareModuleInput(
                        input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),)
                    ),
                )
                parallelize_module(
                    block,
                    mesh,
                    PrepareModuleOutput(
                        output_layouts=(Shard(1),), desired_output_layouts=(Replicate(),)
                    ),
                )
        elif isinstance(block, Attention):
            plan = {name: ColwiseParallel() for name in ("q", "k", "v")}
            parallelize_module(block, mesh, {**plan, "out": RowwiseParallel()})


def prepared(model: nn.Module, mode: str, mesh) -> nn.Module:
    """Return a model as a mode runs it."""
    if mode == "single":
        return model
    if mode == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if mode in {"fsdp1", "hybrid1"}:
        strategy = ShardingStrategy.HYBRID_SHARD if mode == "hybrid1" else None
        return FullyShardedDataParallel(
            model,
            device_mesh=mesh,
            sharding_strategy=strategy,
            auto_wrap_policy=ModuleWrapPolicy({Mlp}),
            use_orig_params=True,
            device_id=torch.device("cpu"),
        )
    if mode in {"tp", "sp", "2d"}:
        split(model, mesh["tp"] if mode == "2d" else mesh, sequence=mode == "sp")
    if mode in {"fsdp", "hsdp", "2d"}:
        shards = mesh["dp"] if mode == "2d" else mesh
        for block in [m for m in model.modules() if isinstance(m, Mlp)]:
            fully_shard(block, mesh=shards)
        fully_shard(model, mesh=shards)
    return model


def share(batch: torch.Tensor, mode: str, mesh) -> torch.Tensor:
    """Return the samples of this rank."""
    if mode in {"single", "tp", "sp"}:
        return batch
    if mode == "2d":
        return batch.chunk(mesh["dp"].size())[mesh["dp"].get_local_rank()]
    return batch.chunk(dist.get_world_size())[dist.get_rank()]


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Return all values of a tensor, in double precision."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).double().clone()


def figures(tensor: torch.Tensor) -> list[float]:
    """Return norm, mean, zeros, least and greatest."""
    ends = torch.aminmax(tensor)
    return [
        tensor.norm().item(),
        tensor.mean().item(),
        int((tensor == 0).sum()),
        ends.min.item(),
        ends.max.item(),
    ]


def train(name: str, mode: str, mesh) -> list[dict]:
    """Train one architecture, and return the truth of each step."""
    build, batch_of = NETS[name]
    torch.manual_seed(3)
    plain = build()
    plain = plain.bfloat16() if name == "bf16" else plain.double()
    sequence = mode == "sp" and name in {"gpt", "tied", "deep", "moe"}
    use = "tp" if mode == "sp" and not sequence else mode
    model = prepared(copy.deepcopy(plain), use, mesh)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(5)
    rows = []
    for _ in range(STEPS):
        batch = share(batch_of(generator), mode, mesh)
        if name == "bf16" and batch.is_floating_point():
            batch = batch.bfloat16()
        loss = (
            model(batch).float().square().mean() if name == "bf16" else model(batch).square().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        if mode in {"fsdp1", "hybrid1"}:  # the parameters are slices: nothing is written of them
            optimizer.step()
            continue
        named = {n.removeprefix("module."): p for n, p in model.named_parameters()}
        before = {n: whole(p) for n, p in named.items()}
        grads = {n: whole(p.grad) for n, p in named.items() if p.grad is not None}
        optimizer.step()
        rows.append(
            {
                n: {
                    "weight": figures(before[n]),
                    "grad": figures(grads[n]) if n in grads else None,
                    "ratio": (whole(p) - before[n]).norm().item() / norm
                    if (norm := before[n].norm().item())
                    else None,
                }
                for n, p in named.items()
            }
        )
    return rows


def train_stages(name: str, many: int = 1) -> None:
    """Train a sequence of modules in stages, of which each rank has so many."""
    build, batch_of = NETS[name]
    torch.manual_seed(3)
    plain = build().double()
    rank, world = dist.get_rank(), dist.get_world_size()
    each = len(plain) // (world * many)
    models = [
        nn.Sequential(OrderedDict((str(i), plain[i]) for i in range(at * each, (at + 1) * each)))
        for at in range(rank, world * many, world)
    ]
    stages = [
        PipelineStage(model, rank + i * world, world * many, torch.device("cpu"))
        for i, model in enumerate(models)
    ]
    if many > 1:
        schedule = ScheduleInterleaved1F1B(stages, 4, loss_fn=lambda y, _: y.square().mean())
    else:
        schedule = ScheduleGPipe(stages[0], 2, loss_fn=lambda y, _: y.square().mean())
    parameters = [p for model in models for p in model.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        batch = batch_of(generator)
        optimizer.zero_grad()
        arguments = (batch,) if rank == 0 else ()
        schedule.step(*arguments, **({"target": batch} if rank == world - 1 else {}))
        optimizer.step()


def main() -> None:
    """Train all."""
    mode, target, *names = sys.argv[1:]
    torch.set_num_threads(1)
    mesh = None
    if mode != "single":
        dist.init_process_group("gloo")
        mesh = mesh_of(mode, dist.get_world_size())
    if mode in {"pp", "interleaved"}:
        for name in names or ["stack"]:
            train_stages(name, 2 if mode == "interleaved" else 1)
        dist.destroy_process_group()
        return
    truth = {name: train(name, mode, mesh) for name in names or NETS}
    if os.environ.get("RANK", "0") == "0" and mode not in {"fsdp1", "hybrid1"}:
        Path(target).write_text(json.dumps(truth))
    if mesh is not None:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
