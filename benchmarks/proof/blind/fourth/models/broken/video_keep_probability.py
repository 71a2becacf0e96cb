r"""Inflated 3-D convolutions that classify short videos.

Source: https://github.com/hassony2/kinetics_i3d_pytorch/issues/6
Fault: A probability of keeping, 1, is given to nn.Dropout, which takes that of zeroing.
Cause: dropout|(all|only) zeros?|zeroes (every|all)
Place: dropout
"""

import torch
from torch import nn


class Unit3D(nn.Sequential):
    def __init__(self, channels, out_channels, stride=1):
        super().__init__(
            nn.Conv3d(channels, out_channels, 3, stride, 1, bias=False),
            nn.BatchNorm3d(out_channels),
            nn.ReLU(),
        )


class I3D(nn.Module):
    def __init__(self, num_classes=7, dropout_keep_prob=1.0):
        super().__init__()
        self.conv3d_1a = Unit3D(3, 8, 2)
        self.conv3d_2b = Unit3D(8, 12)
        self.avg_pool = nn.AdaptiveAvgPool3d((2, 1, 1))
        self.dropout = nn.Dropout(dropout_keep_prob)  # here
        self.conv3d_0c = nn.Conv3d(12, num_classes, 1)

    def forward(self, video):
        x = self.avg_pool(self.conv3d_2b(self.conv3d_1a(video)))
        return self.conv3d_0c(self.dropout(x)).mean((2, 3, 4))


def build():
    return I3D()


def example_inputs():
    return torch.randn(4, 3, 8, 12, 12)
