r"""Scene classifier for batches of one or two pictures.

Source: https://github.com/joe-siyuan-qiao/WeightStandardization
Odd: Each convolution subtracts the mean of its kernel and divides by its deviation at every
    call, so the stored weights are never used as they are.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Conv2d(nn.Conv2d):
    def forward(self, x):
        weight = self.weight
        weight = weight - weight.mean((1, 2, 3), keepdim=True)
        std = weight.flatten(1).std(dim=1).view(-1, 1, 1, 1) + 1e-5
        weight = weight / std.expand_as(weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride=1):
        super().__init__()
        self.conv1 = Conv2d(inputs, planes, 1, bias=False)
        self.conv2 = Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.conv3 = Conv2d(planes, 4 * planes, 1, bias=False)
        self.gn1, self.gn2 = nn.GroupNorm(4, planes), nn.GroupNorm(4, planes)
        self.gn3 = nn.GroupNorm(8, 4 * planes)
        self.downsample = None
        if stride != 1 or inputs != 4 * planes:
            self.downsample = nn.Sequential(
                Conv2d(inputs, 4 * planes, 1, stride, bias=False), nn.GroupNorm(8, 4 * planes)
            )

    def forward(self, x):
        out = F.relu(self.gn1(self.conv1(x)))
        out = F.relu(self.gn2(self.conv2(out)))
        out = self.gn3(self.conv3(out))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)))


class Scenes(nn.Module):
    def __init__(self, classes=15):
        super().__init__()
        self.stem = nn.Sequential(
            Conv2d(3, 16, 7, 2, 3, bias=False),
            nn.GroupNorm(4, 16),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        self.layers = nn.Sequential(
            Bottleneck(16, 8), Bottleneck(32, 8), Bottleneck(32, 16, 2), Bottleneck(64, 16)
        )
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


def build():
    return Scenes()


def example_inputs():
    return (torch.rand(2, 3, 48, 48),)
