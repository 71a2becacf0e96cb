r"""Footsteps in the vibrations of a floor, for a small chip that knows only plus and minus one.

Source: https://github.com/es-ude/elastic-ai.creator/issues/253
Odd: The sign is formed under no_grad and its difference to the input is added back, so that the
    gradient passes through unchanged; the weights lie between minus one and one by a clamp.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Binarize(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            bx = torch.where(torch.gt(x, 0), 1.0, -1.0)
            dy = bx - x
        return x + dy


class BinaryConv1d(nn.Module):
    def __init__(self, inputs, outputs, size, stride=1):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, size).uniform_(-0.5, 0.5))
        self.stride = stride
        self.binarize = Binarize()

    def forward(self, x):
        weight = self.binarize(self.weight.clamp(-1, 1))
        return F.conv1d(x, weight, stride=self.stride)


class FootstepNet(nn.Module):
    def __init__(self, sensors=3, width=16, kinds=4):
        super().__init__()
        self.first = nn.Conv1d(sensors, width, 7, stride=2, bias=False)
        self.norm0 = nn.BatchNorm1d(width)
        self.binarize = Binarize()
        self.conv1 = BinaryConv1d(width, width, 5)
        self.norm1 = nn.BatchNorm1d(width)
        self.conv2 = BinaryConv1d(width, 2 * width, 5, 2)
        self.norm2 = nn.BatchNorm1d(2 * width)
        self.last = nn.Linear(2 * width, kinds)

    def forward(self, x):
        x = self.binarize(F.hardtanh(self.norm0(self.first(x))))
        x = self.binarize(F.hardtanh(self.norm1(self.conv1(x))))
        x = F.hardtanh(self.norm2(self.conv2(x)))
        return self.last(x.mean(2))


def build():
    return FootstepNet()


def example_inputs():
    return (torch.randn(8, 3, 64),)
