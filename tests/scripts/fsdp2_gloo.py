"""For torchrun: fully_shard on a CPU, over gloo."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(self.up(x).relu())


def main():
    dist.init_process_group("gloo")
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer(), nn.Linear(8, 2))
    for layer in model[:2]:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(4):
        loss = model(torch.randn(4, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        # truth: before("model", optimizer, loss)
        optimizer.step()
        # truth: after("model")
        if dist.get_rank() == 0:
            print(step, loss.item(), flush=True)
    weights = {k: v.full_tensor() for k, v in model.state_dict().items() if isinstance(v, DTensor)}
    torch.save(weights, f"{os.environ['WEIGHTS']}.{dist.get_rank()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
