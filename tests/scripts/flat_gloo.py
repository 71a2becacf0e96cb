"""On two ranks, over gloo: FSDP1, two stages a rank, a norm of its own, and uneven inputs."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel

from benchmarks.proof.sharded import training
from benchmarks.proof.sharded.blind.trainings import TRAININGS


def train_flat():
    """FSDP1 whose optimizer has the flat parameter."""
    build, batch_of = training.NETS["mlp"]
    torch.manual_seed(3)
    plain: nn.Module = copy.deepcopy(build().double())
    model = FullyShardedDataParallel(plain, device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(5)
    for _ in range(training.STEPS):
        batch = training.share(batch_of(generator), "fsdp1", None)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    training.train("scaled", "fsdp1", training.mesh_of("fsdp1", dist.get_world_size()))
    train_flat()
    training.train_stages("stack", 2)
    for name in ("final_norm_of_sequence_parallel", "uneven_inputs"):
        TRAININGS[name].run(dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
