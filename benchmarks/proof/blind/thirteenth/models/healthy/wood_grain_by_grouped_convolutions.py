r"""Tells kinds of wood apart by their grain, with grouped convolutions and shuffled channels.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html
Healthy: the grouped convolutions do not mix the groups and the shuffle has no parameters, but the
    shuffle between them carries channels across; the residual sum keeps their order.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, KINDS = 16, 4


class ShuffleUnit(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(channels, channels, 1, groups=groups, bias=False),
            nn.BatchNorm2d(channels), nn.ReLU(),
            nn.ChannelShuffle(groups),
            nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False),
            nn.BatchNorm2d(channels),
            nn.Conv2d(channels, channels, 1, groups=groups, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return F.relu(x + self.branch(x))


class GrainNet(nn.Module):
    def __init__(self, channels=24, groups=4, depth=2):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels), nn.ReLU(),
        )
        self.units = nn.Sequential(*[ShuffleUnit(channels, groups) for _ in range(depth)])
        self.head = nn.Linear(channels, KINDS)

    def forward(self, picture, kind):
        h = self.units(self.stem(picture))
        return F.cross_entropy(self.head(h.mean((2, 3))), kind)


def make_wood(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    grid = torch.linspace(0, 1, SIDE)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    rings = torch.tensor([2.0, 2.0, 5.0, 5.0])[kind].view(-1, 1, 1)
    slant = torch.tensor([0.0, 1.0, 0.0, 1.0])[kind].view(-1, 1, 1)
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    picture = torch.sin(2 * math.pi * rings * (x + slant * y) + phase)
    return (picture + 0.4 * torch.randn(n, SIDE, SIDE, generator=g)).unsqueeze(1), kind


def build():
    torch.manual_seed(0)
    return GrainNet()


def example_inputs():
    return make_wood(48, seed=2)
