r"""Residual network in stages whose main path should carry an activation only at stage ends.

Source: https://github.com/iduta/iresnet/pull/2
Fault: The block begins with an in-place activation on its input, so the identity that is added
    at the end is the rectified input too.
Cause: in.?place|(identity|skip|shortcut|residual).{0,100}(modif\w*|rectif\w*|overwrit\w*
    |chang\w*|alter\w*|clobber\w*|mutat\w*|relu\w*|clipp\w*|non-?negativ\w*|activat\w*)|(input
    |\bx\b).{0,60}(modif\w*|overwrit\w*|clobber\w*|mutat\w*|rectified before)
Place: relu|identity|inplace|\bx\b|forward
"""

import torch
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, inputs, planes, stride=1, start=False, end=False, exclude_first=False):
        super().__init__()
        self.start, self.end = start, end
        if not start and not exclude_first:
            self.bn1 = nn.BatchNorm2d(inputs)
        self.exclude_first = exclude_first
        self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        if start or end:
            self.bn_out = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)  # here
        self.downsample = None
        if start:
            self.downsample = nn.Sequential(
                nn.MaxPool2d(3, stride, 1) if stride > 1 else nn.Identity(),
                nn.Conv2d(inputs, planes, 1, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        identity = x
        if self.start:
            out = self.conv1(x)
        elif self.exclude_first:
            out = self.conv1(self.relu(x))  # here
        else:
            out = self.conv1(self.relu(self.bn1(x)))
        out = self.conv2(self.relu(self.bn2(out)))
        if self.start:
            out = self.bn_out(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out = out + identity
        if self.end:
            out = self.relu(self.bn_out(out))
        return out


class Stages(nn.Module):
    def __init__(self, classes=10, widths=(16, 32, 48), blocks=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16))
        layers, inputs = [], 16
        for i, width in enumerate(widths):
            layers.append(BasicBlock(inputs, width, 1 if i == 0 else 2, start=True))
            for j in range(1, blocks):
                last, first = j == blocks - 1, j == 1
                layers.append(BasicBlock(width, width, end=last, exclude_first=first))
            inputs = width
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.layers(torch.relu(self.stem(x)))
        return self.fc(x.mean((2, 3)))


def build():
    return Stages()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
