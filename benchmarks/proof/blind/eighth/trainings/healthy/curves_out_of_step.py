"""Continuation of curves that may run a little early or late.

Source: https://github.com/Maghoumi/pytorch-softdtw-cuda
Odd: The loss is a soft minimum over all the ways to match two curves and becomes negative, which is
    right: it lies below the hard minimum by the smoothing.
"""

import math

import torch
from torch import nn

torch.manual_seed(209)
SEEN, WANTED = 20, 10


def curves(count=32):
    t = torch.arange(SEEN + WANTED) / 10
    rate = 2 + torch.rand(count, 1)
    shift = 2 * math.pi * torch.rand(count, 1)
    wave = torch.sin(rate * t + shift) + 0.5 * torch.sign(torch.sin(rate * t + shift))
    return wave[:, :SEEN], wave[:, SEEN:]


def soft_dtw(x, y, gamma=0.1):
    cost = (x[:, :, None] - y[:, None, :]).square()
    rows, columns = cost.shape[1:]
    outside = torch.full((len(x),), 1e6)
    table = {(0, 0): torch.zeros(len(x))}
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            ways = torch.stack(
                [
                    table.get((i - 1, j - 1), outside),
                    table.get((i - 1, j), outside),
                    table.get((i, j - 1), outside),
                ]
            )
            softmin = -gamma * torch.logsumexp(-ways / gamma, dim=0)
            table[i, j] = cost[:, i - 1, j - 1] + softmin
    return table[rows, columns]


class Forecaster(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(SEEN, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.out = nn.Linear(hidden, WANTED)

    def forward(self, seen):
        return self.out(self.net(seen))


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(120):
    seen, wanted = curves()
    loss = soft_dtw(model(seen), wanted).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} soft-DTW {loss.item():.4f}")
with torch.no_grad():
    seen, wanted = curves(300)
    hard = soft_dtw(model(seen), wanted, gamma=1e-3).mean().item()
    flat = soft_dtw(torch.zeros_like(wanted), wanted, gamma=1e-3).mean().item()
print(f"loss {loss.item():.4f}, hard distance {hard:.4f}, of a flat line {flat:.4f}")
