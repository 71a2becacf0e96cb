"""What the ranks run here. WHAT in the environment says what goes wrong on rank 1."""

import os
import signal
import time

import torch
from torch import nn

RANK = int(os.environ.get("RANK", "0"))
WHAT = os.environ.get("WHAT", "")
STEP = int(os.environ.get("STEP", "1"))  # in which it goes wrong
if WHAT == "exit at import" and RANK:
    os._exit(7)


class Net(nn.Module):
    def __init__(self, width=16, layers=3):
        super().__init__()
        self.body = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        for layer in self.body:
            x = layer(x).tanh()
        return self.head(x)


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 17 if WHAT == "shape" and RANK else 16)
        self.second = nn.Linear(16, 16)
        if WHAT == "more" and RANK:
            self.extra = nn.Linear(2, 2)
        if WHAT == "build" and RANK:
            raise RuntimeError("rank 1 cannot be built")
        if WHAT == "exit while built" and RANK:
            os._exit(7)
        self.bad = Bad()
        self.last = nn.Linear(16, 16)

    def forward(self, x):
        x = self.bad(self.first(x))
        if WHAT == "skip" and RANK:
            return self.second(x)
        return self.last(self.second(x))


class Bad(nn.Module):
    seen = 0

    def forward(self, x):
        Bad.seen += 1  # once more than steps: the ranks first look what the loss reaches
        if not RANK or Bad.seen < STEP + 2:
            return x
        if WHAT == "raise":
            raise ValueError("rank 1 raises")
        if WHAT == "hang":
            time.sleep(600)
        if WHAT == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if WHAT == "exit":
            os._exit(7)
        return x


class Many(nn.Module):
    """A thousand layers of one parameter each."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8, bias=False) for _ in range(1000))

    def forward(self, x):
        for layer in self.layers:
            x = x + 0.01 * layer(x)
        return x


def batch():
    """Other values on each rank."""
    return torch.randn(4, 16, generator=torch.Generator().manual_seed(100 + RANK))


def loss(output):
    return output.square().mean()


class Lazy(nn.Module):
    """Has no shapes before its first forward: DistributedDataParallel refuses it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(3)

    def forward(self, x):
        return self.fc(x)


class Empty(nn.Module):
    def forward(self, x):
        return x * 2
