r"""Residual picture classifier whose channel gate is a short convolution along the channels.

Source: https://github.com/BangguWu/ECANet/blob/master/models/eca_module.py
Odd: The axes are swapped so that the channels are the length of a one-dimensional convolution
    with one channel; three numbers make the whole gate.
"""

import torch
from torch import nn


class ChannelSequence(nn.Module):
    def __init__(self, k_size=3):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.conv = nn.Conv1d(1, 1, k_size, padding=(k_size - 1) // 2, bias=False)

    def forward(self, x):
        y = self.avg_pool(x)
        y = self.conv(y.squeeze(-1).transpose(-1, -2)).transpose(-1, -2).unsqueeze(-1)
        return x * torch.sigmoid(y).expand_as(x)


class GatedBlock(nn.Module):
    def __init__(self, cin, cout, stride, k_size):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.eca = ChannelSequence(k_size)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or cin != cout:
            self.downsample = nn.Sequential(
                nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout)
            )

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.eca(self.bn2(self.conv2(out)))
        out += residual
        return self.relu(out)


class SequenceGated(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        stem = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(16), nn.ReLU())
        self.blocks = nn.Sequential(
            GatedBlock(16, 16, 1, 3), GatedBlock(16, 32, 2, 3), GatedBlock(32, 64, 2, 5)
        )
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def build():
    return SequenceGated()


def example_inputs():
    return (torch.rand(4, 3, 24, 24),)
