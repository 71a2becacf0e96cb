r"""Residual picture classifier without any normalisation, with one-number biases and scales.

Source: https://github.com/hongyi-zhang/Fixup/blob/master/cifar/models/fixup_resnet_cifar.py
Odd: The second convolution of each block and the last layer start at zero, and no layer is
    normalised; the rule makes the steps of the deep net well scaled and the zeros leave at once.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Scalar(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = nn.Parameter(torch.tensor([float(value)]))


class FixupBlock(nn.Module):
    def __init__(self, cin, cout, stride, depth):
        super().__init__()
        self.bias1a, self.bias1b = Scalar(0), Scalar(0)
        self.bias2a, self.bias2b = Scalar(0), Scalar(0)
        self.scale = Scalar(1)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        std = (2 / (cout * 9)) ** 0.5 * depth**-0.5
        nn.init.normal_(self.conv1.weight, std=std)
        nn.init.zeros_(self.conv2.weight)
        self.shrink = stride != 1

    def forward(self, x):
        y = F.relu(self.conv1(x + self.bias1a.value) + self.bias1b.value)
        y = self.conv2(y + self.bias2a.value) * self.scale.value + self.bias2b.value
        if self.shrink:
            x = F.avg_pool2d(x, 2)
            x = torch.cat([x, torch.zeros_like(x)], dim=1)
        return F.relu(y + x)


class FixupNet(nn.Module):
    def __init__(self, classes=10, depth=6):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bias1, self.bias2 = Scalar(0), Scalar(0)
        self.blocks = nn.Sequential(
            FixupBlock(16, 16, 1, depth),
            FixupBlock(16, 16, 1, depth),
            FixupBlock(16, 32, 2, depth),
            FixupBlock(32, 32, 1, depth),
            FixupBlock(32, 64, 2, depth),
            FixupBlock(64, 64, 1, depth),
        )
        self.fc = nn.Linear(64, classes)
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.blocks(F.relu(self.conv1(x) + self.bias1.value))
        return self.fc(x.mean(dim=(2, 3)) + self.bias2.value)


def build():
    return FixupNet()


def example_inputs():
    return (torch.randn(4, 3, 16, 16),)
