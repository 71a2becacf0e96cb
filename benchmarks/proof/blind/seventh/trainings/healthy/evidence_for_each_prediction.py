r"""A curve with unknown noise: each prediction comes with the evidence for it.

Source: https://github.com/aamini/evidential-deep-learning
Odd: One input gives four numbers that are the parameters of a distribution over means and
    variances; the loss is a log likelihood that falls below zero plus a penalty on confident
    errors.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(74)


class NormalGamma(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.dense = nn.Linear(inputs, 4)

    def forward(self, h):
        mu, v, alpha, beta = self.dense(h).chunk(4, dim=-1)
        return mu, F.softplus(v) + 1e-6, F.softplus(alpha) + 1.0, F.softplus(beta) + 1e-6


def nig_nll(y, gamma, v, alpha, beta):
    two = 2 * beta * (1 + v)
    return (
        0.5 * (math.pi / v).log()
        - alpha * two.log()
        + (alpha + 0.5) * (v * (y - gamma).square() + two).log()
        + torch.lgamma(alpha)
        - torch.lgamma(alpha + 0.5)
    ).mean()


def nig_penalty(y, gamma, v, alpha, beta):
    return ((y - gamma).abs() * (2 * v + alpha)).mean()


def noisy_cube(count, low=-4.0, high=4.0):
    x = low + (high - low) * torch.rand(count, 1)
    return x, (x**3 + 3 * torch.randn(count, 1)) / 20


x, y = noisy_cube(800)
model = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), NormalGamma(64))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    rows = torch.randint(0, len(x), (100,))
    parts = model(x[rows])
    nll = nig_nll(y[rows], *parts)
    loss = nll + 1e-2 * nig_penalty(y[rows], *parts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        with torch.no_grad():
            gamma, v, alpha, beta = model(x)
            rmse = (gamma - y).square().mean().sqrt().item()
            noise = (beta / (alpha - 1)).sqrt().median().item()
        print(f"{step + 1} loss {loss.item():+.3f} rmse {rmse:.3f} noise {noise:.3f}, true 0.150")
