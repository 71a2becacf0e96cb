r"""Water level some hours ahead from the levels of the last day at one gauge.

Source: https://github.com/pytorch/pytorch/issues/108956
Fault: the series has one feature, and LayerNorm(1) takes the mean off a single value, so its
    output is the constant bias and the level never enters the network.
Cause: LayerNorm.{0,120}(one|single|1\b|constant|zero|erase|remove)
    |norm.{0,100}(single|one) (value|feature|element|number|channel)
    |(single|one) (value|feature|element|number).{0,100}(norm|mean|constant|zero)
Place: norm|LayerNorm|norm_in
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

HOURS, FEATURES, AHEAD = 24, 1, 4


class TideForecast(nn.Module):
    def __init__(self, features=FEATURES, hidden=32):
        super().__init__()
        self.norm_in = nn.LayerNorm(features)  # here
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.norm_out = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, AHEAD)

    def forward(self, levels, following):
        states, _ = self.gru(self.norm_in(levels))
        forecast = self.head(self.norm_out(states[:, -1]))
        return F.mse_loss(forecast, following)


def make_tides(n, seed):
    g = torch.Generator().manual_seed(seed)
    start = 400 * torch.rand(n, 1, generator=g)
    t = start + torch.arange(HOURS + AHEAD)
    level = torch.sin(2 * math.pi * t / 12.4) + 0.4 * torch.sin(2 * math.pi * t / 23.9)
    level = level + 0.05 * torch.randn(n, HOURS + AHEAD, generator=g)
    return level[:, :HOURS].unsqueeze(-1), level[:, HOURS:]


def build():
    torch.manual_seed(0)
    return TideForecast()


def example_inputs():
    return make_tides(64, seed=62)
