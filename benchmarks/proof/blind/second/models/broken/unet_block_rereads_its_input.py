r"""A small U-Net for salt segmentation with blocks of two convolutions.

Source: https://github.com/hlamba28/UNET-TGS/pull/3
Fault: the second convolution of a block is applied to the block's input and not to the output of
    the first, whose result is thrown away; the first never gets a gradient.
Cause: (conv1|bn1|first)\b.*\b(unused|discarded|thrown|no gradient|overwritten|never)|wrong
    (input|tensor)
Place: conv1|bn1
"""

import torch
from torch import nn


class Conv2dBlock(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(o)
        self.conv2 = nn.Conv2d(i, o, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(o)

    def forward(self, input_tensor):
        x = torch.relu(self.bn1(self.conv1(input_tensor)))
        x = self.conv2(input_tensor)  # here
        return torch.relu(self.bn2(x))


class UNet(nn.Module):
    def __init__(self, f=8):
        super().__init__()
        self.c1, self.c2 = Conv2dBlock(1, f), Conv2dBlock(f, 2 * f)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * f, f, 2, 2)
        self.c3 = Conv2dBlock(2 * f, f)
        self.out = nn.Conv2d(f, 1, 1)

    def forward(self, image):
        c1 = self.c1(image)
        c2 = self.c2(self.pool(c1))
        return self.out(self.c3(torch.cat([self.up(c2), c1], 1)))


def build():
    return UNet()


def example_inputs():
    return (torch.randn(2, 1, 32, 32),)
