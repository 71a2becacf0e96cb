r"""First-order meta learning of a sine family with batch normalisation.

Source: https://github.com/facebookresearch/higher/issues/55
Odd: The test tasks are evaluated in train mode on purpose: each task is normalised by its own
    batch, as in the original code, and no running statistics are kept.
"""

import copy
import math

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(1, 40), nn.BatchNorm1d(40, track_running_stats=False), nn.ReLU(), nn.Linear(40, 1)
)
meta_opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def task(shots=20):
    phase, height = torch.rand(1) * math.pi, torch.rand(1) * 4 + 1
    x = torch.rand(2, shots, 1) * 10 - 5
    return x, height * torch.sin(x - phase)


def adapt(x, y, steps=3):
    fast = copy.deepcopy(net)
    inner = torch.optim.SGD(fast.parameters(), lr=0.02)
    for _ in range(steps):
        inner.zero_grad()
        nn.functional.mse_loss(fast(x), y).backward()
        inner.step()
    inner.zero_grad()
    return fast


def test():
    net.train()
    errors = []
    for _ in range(20):
        x, y = task()
        errors.append(nn.functional.mse_loss(adapt(x[0], y[0])(x[1]), y[1]).item())
    return sum(errors) / len(errors)


for iteration in range(80):
    meta_opt.zero_grad()
    for _ in range(4):
        x, y = task()
        fast = adapt(x[0], y[0])
        nn.functional.mse_loss(fast(x[1]), y[1]).backward()
        for slow, quick in zip(net.parameters(), fast.parameters(), strict=True):
            slow.grad = quick.grad / 4 if slow.grad is None else slow.grad + quick.grad / 4
    meta_opt.step()
print(f"error after adaptation {test():.3f}")
