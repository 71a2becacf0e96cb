r"""Residual tower for chess positions with a head for the value and one for the moves left.

Source: https://github.com/Rocketknight1/minimal_lczero/issues/1
Fault: The two linear layers of a head follow each other without an activation between them.
Cause: non-?linear|(no|without|missing|lacks?|need).{0,20} activation
    |activation.{0,30}(between|miss)
    |(two|consecutive|successive|stacked|adjacent).{0,20} linear|linear.{0,60}(collapse|in a row)
    |relu.{0,30}(missing|between)
Place: fc1|fc_out|\bhead\b
"""

import torch
from torch import nn


class ConvBlock(nn.Module):
    def __init__(self, channels_in, filters, kernel_size=3):
        super().__init__()
        self.conv = nn.Conv2d(
            channels_in, filters, kernel_size, padding=kernel_size // 2, bias=False
        )
        self.bn = nn.BatchNorm2d(filters)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class ResidualBlock(nn.Module):
    def __init__(self, filters):
        super().__init__()
        self.conv1 = ConvBlock(filters, filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)

    def forward(self, x):
        return torch.relu(x + self.bn2(self.conv2(self.conv1(x))))


class ValueOrMovesLeftHead(nn.Module):
    def __init__(self, filters, outputs, positive):
        super().__init__()
        self.conv_block = ConvBlock(filters, 8, kernel_size=1)
        self.fc1 = nn.Linear(8 * 64, 64)
        self.fc_out = nn.Linear(64, outputs)
        self.positive = positive

    def forward(self, x):
        x = self.conv_block(x).flatten(1)
        x = self.fc_out(self.fc1(x))  # here
        return torch.nn.functional.softplus(x) if self.positive else x


class LeelaNet(nn.Module):
    def __init__(self, filters=32, blocks=3):
        super().__init__()
        self.input_block = ConvBlock(20, filters)
        self.tower = nn.Sequential(*(ResidualBlock(filters) for _ in range(blocks)))
        self.value_head = ValueOrMovesLeftHead(filters, 3, positive=False)
        self.moves_left_head = ValueOrMovesLeftHead(filters, 1, positive=True)

    def forward(self, planes):
        flow = self.tower(self.input_block(planes))
        return self.value_head(flow), self.moves_left_head(flow)


def build():
    return LeelaNet()


def example_inputs():
    return (torch.rand(8, 20, 8, 8) > 0.8).float()
