r"""Inception block with a normalisation and an activation in each branch.

Source: https://github.com/Cadene/pretrained-models.pytorch/issues/90
Fault: The branches are joined before their activation; the outputs of the activations are unused.
Cause: relu\w*.*(unused|not used|never used|discard|ignored|no effect|no influence|nowhere)
    |(unused|discard|ignor|drop)\w* .*(relu|activation)
    |(no|without|missing) (activation|non-?linear)\w*
Place: relu_1x1|relu_3x3
"""

import torch
from torch import nn


class Inception(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.conv_1x1 = nn.Conv2d(channels, width, 1)
        self.bn_1x1 = nn.BatchNorm2d(width)
        self.relu_1x1 = nn.ReLU()
        self.conv_3x3 = nn.Conv2d(channels, width, 3, padding=1)
        self.bn_3x3 = nn.BatchNorm2d(width)
        self.relu_3x3 = nn.ReLU()

    def forward(self, x):
        bn_1x1_out = self.bn_1x1(self.conv_1x1(x))
        relu_1x1_out = self.relu_1x1(bn_1x1_out)  # noqa: F841
        bn_3x3_out = self.bn_3x3(self.conv_3x3(x))
        relu_3x3_out = self.relu_3x3(bn_3x3_out)  # noqa: F841
        return torch.cat([bn_1x1_out, bn_3x3_out], 1)  # here


class BNInception(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.inception_3a = Inception(3, 6)
        self.inception_3b = Inception(12, 6)
        self.inception_3c = Inception(12, 8)
        self.last_linear = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.inception_3c(self.inception_3b(self.inception_3a(x)))
        return self.last_linear(x.mean((2, 3)))


def build():
    return BNInception()


def example_inputs():
    return torch.randn(5, 3, 14, 14)
