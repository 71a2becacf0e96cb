r"""Energy of a molecule from filters that depend on the distance of its atoms.

Source: https://github.com/atomistic-machine-learning/schnetpack
Odd: The activation has log two taken off; the centres of the distances are buffers which nothing
    trains; the energy is a sum over the atoms, with no mean.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - math.log(2.0)


class Interaction(nn.Module):
    def __init__(self, dim, centres):
        super().__init__()
        self.in2f = nn.Linear(dim, dim, bias=False)
        self.filters = nn.Sequential(
            nn.Linear(centres, dim), ShiftedSoftplus(), nn.Linear(dim, dim)
        )
        self.f2out = nn.Sequential(nn.Linear(dim, dim), ShiftedSoftplus(), nn.Linear(dim, dim))

    def forward(self, x, rbf, cutoff):
        weights = self.filters(rbf) * cutoff[..., None]
        return self.f2out((self.in2f(x)[:, None] * weights).sum(2))


class SchNet(nn.Module):
    def __init__(self, dim=24, centres=16, radius=4.0):
        super().__init__()
        self.radius = radius
        self.embedding = nn.Embedding(10, dim, padding_idx=0)
        self.register_buffer("offsets", torch.linspace(0, radius, centres))
        self.interactions = nn.ModuleList(Interaction(dim, centres) for _ in range(3))
        self.outnet = nn.Sequential(nn.Linear(dim, 12), ShiftedSoftplus(), nn.Linear(12, 1))

    def forward(self, numbers, positions):
        distance = (positions[:, :, None] - positions[:, None] + 1e-8).norm(dim=-1)
        width = self.radius / (len(self.offsets) - 1)
        rbf = torch.exp(-0.5 * ((distance[..., None] - self.offsets) / width) ** 2)
        cutoff = 0.5 * (torch.cos(distance * math.pi / self.radius) + 1)
        near = (distance < self.radius) & ~torch.eye(distance.size(1), dtype=torch.bool)
        x = self.embedding(numbers)
        for interaction in self.interactions:
            x = x + interaction(x, rbf, cutoff * near)
        return self.outnet(x).sum(1)


def build():
    return SchNet()


def example_inputs():
    return torch.tensor([1, 6, 8, 7])[torch.randint(0, 4, (5, 8))], 1.5 * torch.randn(5, 8, 3)
