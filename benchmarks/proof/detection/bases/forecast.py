"""Forecasts a time series with dilated causal convolutions."""

import torch
from torch import nn
from torch.nn import functional as F


class CausalConv(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(width, width, 3, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        padded = F.pad(x, (self.pad, 0))
        return x + 0.5 * self.mix(torch.tanh(self.conv(padded)))


class Forecaster(nn.Module):
    def __init__(self, width=24, depth=4):
        super().__init__()
        self.enter = nn.Conv1d(3, width, 1)
        self.stack = nn.ModuleList([CausalConv(width, 2**level) for level in range(depth)])
        self.leave = nn.Conv1d(width, 1, 1)

    def forward(self, series):
        x = self.enter(series)
        for layer in self.stack:
            x = layer(x)
        return self.leave(x)


def example_inputs():
    return (torch.randn(8, 3, 40),)
