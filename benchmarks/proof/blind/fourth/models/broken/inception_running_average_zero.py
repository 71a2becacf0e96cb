r"""Convolutions of an Inception network, each with a normalisation.

Source: https://github.com/Cadene/pretrained-models.pytorch/issues/5
Fault: momentum=0, taken over from another library, never updates the running statistics, so the
    network is another one in evaluation.
Cause: momentum|running[ _](mean|var|statistic|average)\w*|eval\w* .*(differ|batch norm|statistic)
Place: momentum
"""

import torch
import torch.nn.functional as F
from torch import nn


class BasicConv2d(nn.Module):
    def __init__(self, in_planes, out_planes, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_planes, out_planes, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_planes, eps=0.001, momentum=0, affine=True)  # here

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Mixed(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.branch0 = BasicConv2d(planes, 8, kernel_size=1)
        self.branch1 = nn.Sequential(
            BasicConv2d(planes, 8, kernel_size=1), BasicConv2d(8, 8, kernel_size=3, padding=1)
        )

    def forward(self, x):
        return torch.cat([self.branch0(x), self.branch1(x)], 1)


class Inception(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.stem = BasicConv2d(3, 12, kernel_size=3, stride=2)
        self.mixed_a = Mixed(12)
        self.mixed_b = Mixed(16)
        self.last_linear = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.mixed_b(self.mixed_a(self.stem(x)))
        return self.last_linear(x.mean((2, 3)))


def build():
    return Inception()


def example_inputs():
    return torch.randn(6, 3, 25, 25)
