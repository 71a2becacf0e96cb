r"""Finds the direction that the wind comes from, in pressures around a round mast.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CircularPad1d.html
Healthy: the series is padded with its own other end before each convolution and never with zeros;
    the sensors stand in a circle, so the first and the last one are neighbours.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SENSORS = 24


class MastNet(nn.Module):
    def __init__(self, channels=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.CircularPad1d(2), nn.Conv1d(1, channels, 5), nn.SiLU(),
            nn.CircularPad1d(2), nn.Conv1d(channels, channels, 5), nn.SiLU(),
            nn.CircularPad1d(2), nn.Conv1d(channels, 1, 5),
        )

    def forward(self, pressure, direction):
        scores = self.net(pressure.unsqueeze(1)).squeeze(1)
        return F.cross_entropy(scores, direction)


def make_winds(n, seed):
    g = torch.Generator().manual_seed(seed)
    direction = torch.randint(0, SENSORS, (n,), generator=g)
    turn = 2 * math.pi / SENSORS * (torch.arange(SENSORS) - direction.view(-1, 1))
    force = 0.7 + 0.6 * torch.rand(n, 1, generator=g)
    pressure = force * (torch.cos(turn) - 0.6 * torch.cos(2 * turn).clamp(min=0))
    pressure = pressure + 0.8 * torch.exp(-(turn.sin() ** 2 + (1 - turn.cos()) ** 2) / 0.1)
    return pressure + 0.1 * torch.randn(n, SENSORS, generator=g), direction


def build():
    torch.manual_seed(0)
    return MastNet()


def example_inputs():
    return make_winds(96, seed=17)
