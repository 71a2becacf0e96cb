r"""Residual classifier of street pictures that is to bear changes of light.

Source: https://github.com/XingangPan/IBN-Net
Odd: Half of the channels are normalised per picture and half over the batch within one layer.
"""

import torch
import torch.nn.functional as F
from torch import nn


class IBN(nn.Module):
    def __init__(self, planes, ratio=0.5):
        super().__init__()
        self.half = int(planes * ratio)
        self.instance = nn.InstanceNorm2d(self.half, affine=True)
        self.batch = nn.BatchNorm2d(planes - self.half)

    def forward(self, x):
        one, two = torch.split(x, [self.half, x.size(1) - self.half], 1)
        return torch.cat((self.instance(one.contiguous()), self.batch(two.contiguous())), 1)


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride=1, ibn=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 1, bias=False)
        self.bn1 = IBN(planes) if ibn == "a" else nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, 4 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * planes)
        self.norm = nn.InstanceNorm2d(4 * planes, affine=True) if ibn == "b" else None
        self.downsample = None
        if stride != 1 or inputs != 4 * planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, 4 * planes, 1, stride, bias=False), nn.BatchNorm2d(4 * planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out = out + (x if self.downsample is None else self.downsample(x))
        if self.norm is not None:
            out = self.norm(out)
        return F.relu(out)


class DayAndNight(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False)
        self.bn1 = nn.InstanceNorm2d(16, affine=True)
        self.layers = nn.Sequential(
            Bottleneck(16, 8, ibn="a"), Bottleneck(32, 8, ibn="b"),
            Bottleneck(32, 16, 2, ibn="a"), Bottleneck(64, 16),
        )  # fmt: skip
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))


def build():
    return DayAndNight()


def example_inputs():
    return (torch.rand(4, 3, 64, 64),)
