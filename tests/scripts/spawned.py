"""Hogwild: processes that are spawned train a model in shared memory, one after the other."""

import sys

import torch
import torch.multiprocessing as mp
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


def train(rank, model, queue):
    torch.manual_seed(100 + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    queue.put((rank, __name__, loss.item()))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Net()
    model.share_memory()
    context = mp.get_context("spawn")
    for rank in range(2):
        queue = context.Queue()
        process = context.Process(target=train, args=(rank, model, queue))
        process.start()
        print(*queue.get())
        process.join()
        print("status", process.exitcode)
    torch.save(model.state_dict(), sys.argv[1])
