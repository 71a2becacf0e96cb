r"""Residual network for transfer with group norms.

Source: https://github.com/google-research/big_transfer
Odd: Each call subtracts from a filter its mean and divides by its deviation, so the size of a
    weight has no influence on the output; the head starts at zero.
"""

import torch
import torch.nn.functional as F
from torch import nn


class StdConv2d(nn.Conv2d):
    def forward(self, x):
        w = self.weight
        v, m = torch.var_mean(w, dim=[1, 2, 3], keepdim=True, unbiased=False)
        w = (w - m) / torch.sqrt(v + 1e-10)
        return F.conv2d(x, w, self.bias, self.stride, self.padding, self.dilation, self.groups)


def conv3x3(cin, cout, stride=1):
    return StdConv2d(cin, cout, 3, stride=stride, padding=1, bias=False)


class PreActUnit(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.gn1, self.conv1 = nn.GroupNorm(4, cin), conv3x3(cin, cout, stride)
        self.gn2, self.conv2 = nn.GroupNorm(4, cout), conv3x3(cout, cout)
        self.downsample = StdConv2d(cin, cout, 1, stride=stride, bias=False)

    def forward(self, x):
        out = F.relu(self.gn1(x))
        residual = self.downsample(out)
        out = self.conv1(out)
        return self.conv2(F.relu(self.gn2(out))) + residual


class ResNetV2(nn.Module):
    def __init__(self, classes=5, width=16, zero_head=True):
        super().__init__()
        self.root = conv3x3(3, width)
        self.body = nn.Sequential(
            PreActUnit(width, width, 1),
            PreActUnit(width, 2 * width, 2),
            PreActUnit(2 * width, 4 * width, 2),
        )
        self.gn = nn.GroupNorm(4, 4 * width)
        self.fc = nn.Linear(4 * width, classes)
        if zero_head:
            nn.init.zeros_(self.fc.weight)
            nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.body(self.root(x))
        return self.fc(F.relu(self.gn(x)).mean((2, 3)))


def build():
    return ResNetV2()


def example_inputs():
    return torch.rand(4, 3, 24, 24)
