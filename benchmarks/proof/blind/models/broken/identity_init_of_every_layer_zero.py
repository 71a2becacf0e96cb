r"""Residual blocks that are meant to start as identity.

Source: https://github.com/DrChainsaw/NaiveGAflux.jl/issues/39
Fault: all convolutions of the residual branch are zero instead of the last one: none can learn.
Cause: init|identity|(start|weight|both|all).*(zero|\b0\b)|zero.*(weight|both|convolution)
Place: conv1|conv2
"""

import torch
import torch.nn.functional as F
from torch import nn


class IdentityResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        for conv in (self.conv1, self.conv2):  # here
            nn.init.zeros_(conv.weight)
            nn.init.zeros_(conv.bias)

    def forward(self, x):
        return x + self.conv2(F.relu(self.conv1(x)))


def build(channels=8, depth=3):
    blocks = [IdentityResBlock(channels) for _ in range(depth)]
    return nn.Sequential(nn.Conv2d(channels, channels, 1), *blocks, nn.Conv2d(channels, 2, 1))


def example_inputs():
    return (torch.randn(4, 8, 8, 8),)
