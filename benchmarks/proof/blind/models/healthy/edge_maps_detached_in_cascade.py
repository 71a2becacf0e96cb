"""A bi-directional cascade for edges with side outputs of two scales.

Source: https://github.com/pkuCactus/BDCN/issues/8
Odd: a side output is detached before it helps the next one; each has its own loss.
"""

import torch
import torch.nn.functional as F
from torch import nn


class MiniBDCN(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(width, width, 3, 2, 1), nn.ReLU())
        self.side1 = nn.Conv2d(width, 1, 1)
        self.side2 = nn.Conv2d(width, 1, 1)
        self.fuse = nn.Conv2d(2, 1, 1)

    def forward(self, x):
        f1 = self.stage1(x)
        s1 = self.side1(f1)
        s2 = F.interpolate(self.side2(self.stage2(f1)), x.shape[2:], mode="bilinear")
        o1 = s1.detach()
        return s1, s2 + o1, self.fuse(torch.cat([s1, s2], dim=1))


def example_inputs():
    return (torch.rand(2, 3, 12, 12),)
