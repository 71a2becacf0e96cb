r"""Classifier of aerial cells that gives the same answer for pictures turned by 90 degrees.

Source: https://github.com/tscohen/GrouPy
Odd: One filter is used in four rotations, and the inputs of later filters are also shifted along
    the axis of rotations; the maximum over that axis makes the answer free of the rotation.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LiftConv(nn.Module):
    def __init__(self, cin, cout, kernel=3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cout, cin, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(cout))
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")

    def forward(self, x):
        turned = torch.stack([self.weight.rot90(r, (2, 3)) for r in range(4)], dim=1)
        y = F.conv2d(x, turned.flatten(0, 1), padding=1)
        return y.view(len(x), -1, 4, *y.shape[2:]) + self.bias[:, None, None, None]


class GroupConv(nn.Module):
    def __init__(self, cin, cout, kernel=3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cout, cin, 4, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(cout))
        nn.init.normal_(self.weight, std=(2 / (cin * 4 * kernel**2)) ** 0.5)

    def forward(self, x):
        turned = [self.weight.roll(r, dims=2).rot90(r, (3, 4)) for r in range(4)]
        turned = torch.stack(turned, dim=1).flatten(2, 3).flatten(0, 1)
        y = F.conv2d(x.flatten(1, 2), turned, padding=1)
        return y.view(len(x), -1, 4, *y.shape[2:]) + self.bias[:, None, None, None]


class TurnedFilters(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.lift = LiftConv(3, 8)
        self.norm1, self.norm2 = nn.BatchNorm3d(8), nn.BatchNorm3d(16)
        self.conv = GroupConv(8, 16)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.lift(x)))
        x = F.max_pool3d(x, (1, 2, 2))
        x = F.relu(self.norm2(self.conv(x)))
        return self.head(x.amax(2).mean(dim=(2, 3)))


def build():
    return TurnedFilters()


def example_inputs():
    return (torch.rand(4, 3, 24, 24),)
