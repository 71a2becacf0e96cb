r"""Forecaster of time series made of blocks that explain away the past step by step.

Source: https://github.com/philipperemy/n-beats
Odd: The backcast of the last block is computed but no one reads it, so its layer has no gradient.
"""

import torch
from torch import nn
from torch.nn import functional as F


class GenericBlock(nn.Module):
    def __init__(self, backcast, forecast, units=32, theta=8):
        super().__init__()
        self.fc1 = nn.Linear(backcast, units)
        self.fc2 = nn.Linear(units, units)
        self.theta_b = nn.Linear(units, theta, bias=False)
        self.theta_f = nn.Linear(units, theta, bias=False)
        self.backcast_fc = nn.Linear(theta, backcast)
        self.forecast_fc = nn.Linear(theta, forecast)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        return self.backcast_fc(self.theta_b(x)), self.forecast_fc(self.theta_f(x))


class NBeatsNet(nn.Module):
    def __init__(self, backcast=24, forecast=6, blocks=3):
        super().__init__()
        self.forecast = forecast
        self.blocks = nn.ModuleList(GenericBlock(backcast, forecast) for _ in range(blocks))

    def forward(self, backcast):
        forecast = backcast.new_zeros(backcast.size(0), self.forecast)
        for block in self.blocks:
            b, f = block(backcast)
            backcast = backcast - b
            forecast = forecast + f
        return forecast


def build():
    return NBeatsNet()


def example_inputs():
    return torch.randn(16, 24)
