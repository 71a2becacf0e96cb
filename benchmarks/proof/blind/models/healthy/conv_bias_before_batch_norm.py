"""A block of a nested U-Net with a bias in the convolutions before batch norm.

Source: https://github.com/4uiiurz1/pytorch-nested-unet/issues/39
    https://github.com/yjxiong/caffe/issues/98
Odd: the biases before batch norm have a zero gradient; they are useless but harmless.
"""

import torch
import torch.nn.functional as F
from torch import nn


class VGGBlock(nn.Module):
    def __init__(self, c_in=3, mid=8, out=8, classes=2):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, mid, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(mid)
        self.conv2 = nn.Conv2d(mid, out, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(out)
        self.final = nn.Conv2d(out, classes, 1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.final(x)


def example_inputs():
    return (torch.randn(4, 3, 16, 16),)
