"""In the style of the DDP tutorial, for torchrun: two processes with gloo."""

import json
import os

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_basic():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    goal = torch.randn(10, 5)
    model = ToyModel()
    ddp_model = DDP(model)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.05)
    torch.manual_seed(rank)
    losses = []
    for step in range(40):
        optimizer.zero_grad()
        inputs = torch.randn(20, 10)
        loss = loss_fn(ddp_model(inputs), inputs @ goal)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    total = torch.tensor(losses[-1])
    dist.all_reduce(total)
    if rank == 0:
        print(f"mean loss {total.item() / dist.get_world_size():.4f}", os.environ["WORLD_SIZE"])
        print("TRUTH", json.dumps({"model": ["SGD", 40, losses[0], losses[-1]]}))
    dist.destroy_process_group()


if __name__ == "__main__":
    demo_basic()
