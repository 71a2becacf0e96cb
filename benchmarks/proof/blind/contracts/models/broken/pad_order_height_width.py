r"""Pads any image to a square before the network.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.pad.html
Fault: F.pad takes the last dimension first, but the amounts are given as (top, bottom, left,
    right), so height and width padding are swapped.
Cause: pad.*(order|swap|last dim|height|width|wrong (dim|axis)|reversed|square)
    |(height|width).*(swap|exchang|confus|pad)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SquareNet(nn.Module):
    """Pads any image to a square before the network."""

    def __init__(self, width=16, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h, w = x.shape[-2:]
        side = max(h, w)
        top, left = (side - h) // 2, (side - w) // 2
        bottom, right = side - h - top, side - w - left
        x = F.pad(x, (top, bottom, left, right))
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = SquareNet()
example_inputs = (torch.randn(4, 3, 20, 32),)
