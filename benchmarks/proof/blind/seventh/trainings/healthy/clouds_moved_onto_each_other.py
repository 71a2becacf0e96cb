r"""A cloud of points is moved onto another by a network, with the cost of transport as the loss.

Source: https://github.com/gpeyre/SinkhornAutoDiff
Odd: The loss contains a loop of thirty updates in the log domain with no parameters, the points
    have no partners, and the loss does not reach zero since the regularised cost of a match is
    positive.
"""

import math

import torch
from torch import nn

torch.manual_seed(113)


def sinkhorn(x, y, epsilon=0.05, iterations=30):
    cost = (x[:, None] - y[None]).square().sum(-1)
    log_mu = torch.full((len(x),), -math.log(len(x)))
    log_nu = torch.full((len(y),), -math.log(len(y)))
    u, v = torch.zeros(len(x)), torch.zeros(len(y))

    def scaled(u, v):
        return (-cost + u[:, None] + v[None]) / epsilon

    for _ in range(iterations):
        u = epsilon * (log_mu - torch.logsumexp(scaled(u, v), dim=1)) + u
        v = epsilon * (log_nu - torch.logsumexp(scaled(u, v), dim=0)) + v
    plan = scaled(u, v).exp()
    return (plan * cost).sum()


class Mover(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, x):
        return x + self.net(x)


def two_moons(count):
    a = 3.1416 * torch.rand(count)
    lower = torch.rand(count) < 0.5
    x = torch.where(lower, 1 - a.cos(), a.cos())
    y = torch.where(lower, 0.5 - a.sin(), a.sin())
    return torch.stack([x, y], 1) + 0.04 * torch.randn(count, 2)


def gap(mover, count=400):
    with torch.no_grad():
        moved, goal = mover(torch.randn(count, 2)), two_moons(count)
    d = torch.cdist(moved, goal)
    return 0.5 * (d.min(0).values.mean() + d.min(1).values.mean()).item()


mover = Mover()
optimizer = torch.optim.Adam(mover.parameters(), lr=6e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
print(f"before: gap {gap(mover):.3f}")
for step in range(110):
    loss = sinkhorn(mover(torch.randn(72, 2)), two_moons(72))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 22 == 21:
        print(f"{step + 1} cost {loss.item():.4f} gap {gap(mover):.3f}")
