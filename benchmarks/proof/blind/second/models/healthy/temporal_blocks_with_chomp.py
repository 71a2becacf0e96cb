"""A temporal convolutional network with weight normalisation and causal padding.

Source: https://github.com/locuslab/TCN/blob/master/TCN/tcn.py
Odd: each convolution pads on both sides and the end of its output is cut off, so some computed
    values get no gradient; this makes the convolution causal.
"""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, i, o, kernel, dilation, dropout=0.0):
        super().__init__()
        pad = (kernel - 1) * dilation
        layers = []
        for channels in (i, o):
            conv = nn.Conv1d(channels, o, kernel, padding=pad, dilation=dilation)
            layers += [weight_norm(conv), Chomp1d(pad), nn.ReLU(), nn.Dropout(dropout)]
        self.net = nn.Sequential(*layers)
        self.downsample = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        return torch.relu(self.net(x) + self.downsample(x))


class TCN(nn.Module):
    def __init__(self, inputs=2, channels=(16, 16, 16)):
        super().__init__()
        sizes = (inputs, *channels)
        self.blocks = nn.Sequential(
            *(TemporalBlock(sizes[n], sizes[n + 1], 3, 2**n) for n in range(len(channels)))
        )
        self.linear = nn.Linear(channels[-1], 1)

    def forward(self, x):
        return self.linear(self.blocks(x)[:, :, -1])


def build():
    return TCN()


def example_inputs():
    return (torch.randn(8, 2, 40),)
