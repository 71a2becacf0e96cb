"""Coordinates to colours through random Fourier features.

Source: https://github.com/jmclong/random-fourier-features-pytorch/issues/6
Odd: the matrix of frequencies is random and stays random.
"""

import math

import torch
from torch import nn


class FourierMLP(nn.Module):
    def __init__(self, sigma=2.0, m=16, hidden=32):
        super().__init__()
        self.register_buffer("b", sigma * torch.randn(m, 2))
        self.net = nn.Sequential(nn.Linear(2 * m, hidden), nn.ReLU(), nn.Linear(hidden, 3))

    def forward(self, coords):
        vp = 2 * math.pi * coords @ self.b.T
        return self.net(torch.cat([vp.cos(), vp.sin()], dim=-1))


def example_inputs():
    return (torch.rand(64, 2),)
