r"""Walking time between two places as a Laplace law, for times with some very late arrivals.

Source: https://docs.pytorch.org/docs/stable/distributions.html#laplace
Healthy: the loss is a negative log-density and goes below zero where the spread is small; the
    gradient of the centre is a mere sign divided by the spread, as it is for this law.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Laplace

FEATURES = 6


class WalkingTime(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(FEATURES, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
        )
        self.out = nn.Linear(hidden, 2)

    def forward(self, way, time):
        centre, raw = self.out(self.body(way)).unbind(-1)
        law = Laplace(centre, F.softplus(raw) + 1e-2)
        return -law.log_prob(time).mean()


def make_walks(n, seed):
    g = torch.Generator().manual_seed(seed)
    way = torch.randn(n, FEATURES, generator=g)
    centre = way[:, 0].abs() + 0.5 * torch.tanh(way[:, 1])
    spread = 0.03 + 0.1 * torch.sigmoid(2 * way[:, 2])
    u = torch.rand(n, generator=g).clamp(1e-4, 1 - 1e-4) - 0.5
    return way, centre - spread * u.sign() * torch.log1p(-2 * u.abs())


def build():
    torch.manual_seed(0)
    return WalkingTime()


def example_inputs():
    return make_walks(256, seed=26)
