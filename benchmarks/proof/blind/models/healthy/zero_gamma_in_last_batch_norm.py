"""Residual blocks whose last batch norm starts with weight zero.

Source: https://github.com/google-deepmind/sonnet/issues/185
    https://github.com/facebookresearch/simsiam/issues/28
Odd: the convolutions of a block have no gradient at first, the block opens with gamma.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + x)


def build(planes=8, depth=2):
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(planes, 4)]
    return nn.Sequential(*[BasicBlock(planes) for _ in range(depth)], *head)


def example_inputs():
    return (torch.randn(8, 8, 8, 8),)
