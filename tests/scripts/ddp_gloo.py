"""For torchrun: DistributedDataParallel with gloo, and with no_sync for accumulation."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(6, 6)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(6, 3)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def main(args):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(ToyModel())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for step in range(args.steps):
        total = 0.0
        with model.no_sync():
            loss = model(torch.randn(5, 6)).square().mean() / 2
            loss.backward()
        total += loss.item()
        loss = model(torch.randn(5, 6)).square().mean() / 2
        loss.backward()
        total += loss.item()
        # truth: before("model", optimizer, total)
        optimizer.step()
        # truth: after("model")
        optimizer.zero_grad()
        if rank == 0:
            print(step, total, flush=True)
    torch.save(model.module.state_dict(), f"{args.save}.{rank}")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--save", default=os.environ.get("WEIGHTS"))
    main(parser.parse_args())
