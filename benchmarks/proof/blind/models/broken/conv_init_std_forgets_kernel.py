"""A plain residual tower with a Xavier style initialisation written by hand.

Source: https://github.com/LeelaChessZero/lczero-training/pull/43
Fault: the fan leaves out the area of the kernel: std is three times too large, signals explode.
Cause: init|std|fan|variance|explod|scale|too large|xavier
Place: conv|tower|weight|init
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ResidualTower(nn.Module):
    def __init__(self, channels=8, blocks=24):
        super().__init__()
        self.tower = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(blocks)
        )
        self.value = nn.Linear(channels, 1)
        for conv in self.tower:
            shape = conv.weight.shape
            std = math.sqrt(4.0 / (shape[0] + shape[1]))  # here
            nn.init.normal_(conv.weight, std=std)

    def forward(self, planes):
        x = planes
        for conv in self.tower:
            x = x + F.relu(conv(x))
        return torch.tanh(self.value(x.mean((2, 3))))


def example_inputs():
    return (torch.randn(2, 8, 8, 8),)
