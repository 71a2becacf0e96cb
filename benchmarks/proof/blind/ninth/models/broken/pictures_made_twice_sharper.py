r"""Super-resolution network that doubles the side of a picture and is trained on features.

Source: https://github.com/bguisard/SuperResolution/issues/2
Fault: The residual and upsampling blocks sit in plain Python lists, so their parameters belong
    to no module and the optimizer never gets them.
Cause: (plain|python|ordinary|regular|bare).{0,20}lists?|not registered|unregistered
    |n't registered|never registered|module.?list|not (in|part of|among
    |returned by) .{0,30}parameters|missing from .{0,30}(parameters|state)|(not|never) (seen
    |found|tracked|reach\w*)|(not|n't|never) (appear|show|be|in|get
    |updat\w*).{0,40}(parameters|trained|optimi[sz]\w*)|untrained|never trained
Place: \brs\b|\bup\b|blocks?|list
"""

import torch
import torch.nn.functional as F
from torch import nn


class ConvLayer(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1):
        super().__init__()
        self.pad = nn.ReflectionPad2d(kernel // 2)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride)

    def forward(self, x):
        return self.conv(self.pad(x))


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = ConvLayer(channels, channels, 3), ConvLayer(channels, channels, 3)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return x + self.bn2(self.conv2(out))


class UpsampleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.bn = ConvLayer(channels, channels, 3), nn.BatchNorm2d(channels)

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        return F.relu(self.bn(self.conv(x)))


class SuperRes(nn.Module):
    def __init__(self, channels=24, residuals=4):
        super().__init__()
        self.conv1 = ConvLayer(3, channels, 9)
        self.bn1 = nn.BatchNorm2d(channels)
        self.rs = [ResidualBlock(channels) for _ in range(residuals)]  # here
        self.up = [UpsampleBlock(channels)]  # here
        self.out = ConvLayer(channels, 3, 9)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for block in self.rs:
            x = block(x)
        for block in self.up:
            x = block(x)
        return torch.tanh(self.out(x))


def build():
    return SuperRes()


def example_inputs():
    return (torch.rand(2, 3, 24, 24),)
