r"""A region proposal head over a bird's-eye view map.

Source: https://github.com/tsinghua-rll/VoxelNet-tensorflow/issues/10
Fault: the helper that builds each convolution adds a ReLU to the last ones too, so the regression
    can never be negative and no anchor can shrink or move back.
Cause: \bReLU\b|non.?negative|(never|not|no)\b.*\bnegative|rectif|activation
Place: reg_conv|ConvMD|\breg(ression)?\b
"""

import torch
from torch import nn


class ConvMD(nn.Sequential):
    def __init__(self, i, o, k, stride=1):
        super().__init__(
            nn.Conv2d(i, o, k, stride, k // 2), nn.BatchNorm2d(o), nn.ReLU(inplace=True)
        )


class MiddleAndRPN(nn.Module):
    def __init__(self, channels=16, anchors=2):
        super().__init__()
        self.block1 = nn.Sequential(ConvMD(channels, 32, 3, 2), ConvMD(32, 32, 3))
        self.block2 = nn.Sequential(ConvMD(32, 32, 3, 2), ConvMD(32, 32, 3))
        self.deconv = nn.ConvTranspose2d(32, 32, 2, 2)
        self.prob_conv = nn.Conv2d(64, anchors, 1)
        self.reg_conv = ConvMD(64, 7 * anchors, 1)  # here

    def forward(self, voxels):
        x1 = self.block1(voxels)
        x2 = self.deconv(self.block2(x1))
        feats = torch.cat([x1, x2], 1)
        return torch.sigmoid(self.prob_conv(feats)), self.reg_conv(feats)


def build():
    return MiddleAndRPN()


def example_inputs():
    return (torch.randn(2, 16, 32, 32),)
