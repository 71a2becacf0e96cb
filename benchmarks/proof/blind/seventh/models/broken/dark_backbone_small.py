r"""Small picture classifier with the backbone of a well-known detector.

Source: https://github.com/yakhyo/darknet-pytorch/issues/2
Fault: The residual block adds its input twice.
Cause: (input|shortcut|skip|residual|identity|\bx\b).{0,60}(added )?(twice|two times|2 ?\*|double
    |again|second time)
    |(adds?|added|adding|sum\w*|doubl\w*).{0,60}(twice|two times|again|doubl|input|identity
    |shortcut)
Place: shortcut|\bout\b|ResidualBlock|residual|\bres\w*
"""

import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self, cin, cout, k, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, k, stride, k // 2, bias=False)
        self.norm = nn.BatchNorm2d(cout)
        self.act = nn.LeakyReLU(0.1)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = Conv(channels, channels // 2, 1)
        self.conv2 = Conv(channels // 2, channels, 3)

    def forward(self, x):
        shortcut = x
        out = self.conv2(self.conv1(x))
        out = out + shortcut
        return shortcut + out  # here


class DarkBackbone(nn.Module):
    def __init__(self, classes=20):
        super().__init__()
        self.stem = Conv(3, 16, 3)
        self.down1 = Conv(16, 32, 3, 2)
        self.stage1 = nn.Sequential(ResidualBlock(32))
        self.down2 = Conv(32, 64, 3, 2)
        self.stage2 = nn.Sequential(ResidualBlock(64), ResidualBlock(64))
        self.down3 = Conv(64, 96, 3, 2)
        self.stage3 = nn.Sequential(*[ResidualBlock(96) for _ in range(4)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(96, classes)

    def forward(self, x):
        x = self.stage1(self.down1(self.stem(x)))
        x = self.stage2(self.down2(x))
        x = self.stage3(self.down3(x))
        return self.fc(self.pool(x).flatten(1))


def build():
    return DarkBackbone()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
