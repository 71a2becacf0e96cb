r"""Solution of the heat equation on a rod by a network.

Source: https://github.com/lululxvi/hpinn
Odd: There is no data and no loss at the border or at time zero: the output is multiplied so that
    they hold for any weights. Gradients of gradients are taken before the backward pass.
"""

import math

import torch
from torch import nn

torch.manual_seed(13)
alpha, last = 0.1, 1.0
net = nn.Sequential(
    nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1, bias=True)
)


def u(x, t):
    raw = net(torch.cat([x * 2 - 1, t * 2 - 1], 1))
    return torch.sin(math.pi * x) + t * x * (1 - x) * raw


def gradient(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def error():
    x, t = torch.rand(500, 1), last * torch.rand(500, 1)
    exact = torch.exp(-alpha * math.pi**2 * t) * torch.sin(math.pi * x)
    with torch.no_grad():
        return ((u(x, t) - exact).square().mean() / exact.square().mean()).sqrt().item()


optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
print(f"relative error at first {error():.3f}")
for step in range(120):
    x = torch.rand(256, 1, requires_grad=True)
    t = (last * torch.rand(256, 1)).requires_grad_(True)
    y = u(x, t)
    residual = gradient(y, t) - alpha * gradient(gradient(y, x), x)
    loss = residual.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} residual {loss.item():.5f}")
print(f"last residual {loss.item():.5f}, relative error {error():.4f}")
