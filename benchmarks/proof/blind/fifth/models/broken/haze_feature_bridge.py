r"""Bridge of a network that removes haze, which attends over all places of a feature map.

Source: https://github.com/zzr-idam/UVM-Net/issues/6
Fault: The map is reshaped from channels first to places first with no permute, which scrambles it.
Cause: reshap\w*|\bviews?\b|permut\w*|transpos\w*|channels? .*(place|pixel|position|mix|scrambl)
    |scrambl\w*|memory order
"""

import torch
from torch import nn


class UVMBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.convb = nn.Sequential(
            nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1)
        )
        self.ln = nn.LayerNorm(c)
        self.model1 = nn.Linear(c, c)
        self.model2 = nn.Linear(c, c)
        self.softmax = nn.Softmax(dim=1)
        self.smooth = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        b, c, h, w = x.shape
        x = self.convb(x) + x
        x = self.ln(x.reshape(b, -1, c))  # here
        y = self.model1(x)
        attention = self.softmax(self.model2(x))
        result = attention * y + x
        return self.smooth(result.reshape(b, c, h, w))  # here


class DehazeNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.enter = nn.Conv2d(3, c, 3, stride=2, padding=1)
        self.bridge = nn.Sequential(UVMBlock(c), UVMBlock(c))
        self.leave = nn.ConvTranspose2d(c, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return x + self.leave(self.bridge(self.enter(x)))


def build():
    return DehazeNet()


def example_inputs():
    return torch.rand(4, 3, 24, 24)
