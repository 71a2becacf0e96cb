r"""U-shaped network for pictures of any size.

Source: https://github.com/milesial/Pytorch-UNet
Odd: Each enlarged map is padded on one side only when its size was odd, before it is joined.
"""

import torch
from torch import nn
from torch.nn import functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(
            nn.Conv2d(n_in, n_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(inplace=True),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(inplace=True),
        )


class Up(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.up = nn.ConvTranspose2d(n_in, n_in // 2, 2, stride=2)
        self.conv = DoubleConv(n_in, n_out)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy, dx = x2.size(2) - x1.size(2), x2.size(3) - x1.size(3)
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, channels=3, classes=2, base=8):
        super().__init__()
        self.inc = DoubleConv(channels, base)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(base, 2 * base))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * base, 4 * base))
        self.up1 = Up(4 * base, 2 * base)
        self.up2 = Up(2 * base, base)
        self.outc = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        return self.outc(self.up2(self.up1(self.down2(x2), x2), x1))


def build():
    return UNet()


def example_inputs():
    return torch.randn(3, 3, 27, 31)
