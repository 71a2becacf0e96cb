r"""Velocity network of a flow matching model with time conditioning.

Source: https://github.com/atong01/conditional-flow-matching/issues/134
Odd: The last convolution starts at zero, so the first outputs are all zero and the layers before
    get no gradient at the first step; it moves at once and all learn afterwards.
"""

import torch
from torch import nn


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


class VelocityNet(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, channels))
        self.inp = nn.Conv2d(1, channels, 3, padding=1)
        self.mid = nn.Sequential(
            nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.out = nn.Sequential(
            nn.GroupNorm(4, channels),
            nn.SiLU(),
            zero_module(nn.Conv2d(channels, 1, 3, padding=1)),
        )

    def forward(self, x, t):
        h = self.inp(x) + self.time(t[:, None])[:, :, None, None]
        return self.out(h + self.mid(h))


def build():
    return VelocityNet()


def example_inputs():
    return torch.randn(3, 1, 12, 12), torch.rand(3)
