"""Residual blocks of an energy-based model.

Source: https://github.com/yilundu/improved_contrastive_divergence/issues/7
Fault: the input is kept in x_orig but never added, so the block has no shortcut and signals
    shrink.
Cause: residual|skip|shortcut|x_orig|vanish|shrink|small init|std
Place: x_orig|forward|conv
"""

import torch
from torch import nn


class CondResBlock(nn.Module):
    def __init__(self, filters):
        super().__init__()
        self.conv1 = nn.Conv2d(filters, filters, 3, padding=1)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1)
        nn.init.normal_(self.conv2.weight, std=1e-3)
        nn.init.zeros_(self.conv2.bias)
        self.act = nn.SiLU()

    def forward(self, x):
        x_orig = x
        x = self.act(self.conv1(x_orig))
        return self.act(self.conv2(x))  # here


class EnergyModel(nn.Module):
    def __init__(self, filters=8, depth=3):
        super().__init__()
        self.blocks = nn.Sequential(*[CondResBlock(filters) for _ in range(depth)])
        self.energy = nn.Linear(filters, 1)

    def forward(self, x):
        return self.energy(self.blocks(x).sum((2, 3)))


def build():
    return EnergyModel()


def example_inputs():
    return (torch.randn(4, 8, 8, 8),)
