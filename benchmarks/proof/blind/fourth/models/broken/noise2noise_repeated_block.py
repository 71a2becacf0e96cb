r"""Denoising U-Net of two levels more than it has blocks.

Source: https://github.com/joeylitalien/noise2noise-pytorch/issues/7
Fault: One and the same block is applied at each level of the encoder.
Cause: shar(e|es|ed|ing)\b|same (module|weights?|parameters?|instance|block)
    |(used|called|applied|runs?) (twice|\d+ times|more than once|again)
Place: _block2
"""

import torch
import torch.nn.functional as F
from torch import nn


class UNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self._block1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self._block2 = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self._block3 = nn.Sequential(nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU())
        self._block4 = nn.Sequential(nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU())
        self._block5 = nn.Sequential(nn.Conv2d(width + 3, width, 3, padding=1), nn.ReLU())
        self._block6 = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        pool1 = self._block1(x)
        pool2 = self._block2(pool1)
        pool3 = self._block2(pool2)  # here
        up2 = self._block3(torch.cat([F.interpolate(pool3, scale_factor=2), pool2], 1))
        up1 = self._block4(torch.cat([F.interpolate(up2, scale_factor=2), pool1], 1))
        return self._block6(self._block5(torch.cat([F.interpolate(up1, scale_factor=2), x], 1)))


def build():
    return UNet()


def example_inputs():
    return torch.rand(3, 3, 16, 16)
