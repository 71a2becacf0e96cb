"""An anti-aliased CNN, whose down-sampling is a fixed blur.

Source: https://github.com/adobe/antialiased-cnns/blob/master/antialiased_cnns/blurpool.py
Odd: the blur is a convolution whose weights are a buffer and not a parameter; the binomial filter
    is fixed on purpose.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BlurPool(nn.Module):
    def __init__(self, channels, stride=2):
        super().__init__()
        a = torch.tensor([1.0, 2.0, 1.0])
        filt = a[:, None] * a[None]
        self.register_buffer("filt", (filt / filt.sum()).repeat(channels, 1, 1, 1))
        self.pad = nn.ReflectionPad2d(1)
        self.stride, self.channels = stride, channels

    def forward(self, x):
        return F.conv2d(self.pad(x), self.filt, stride=self.stride, groups=self.channels)


class AntialiasedNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2, stride=1),
            BlurPool(16),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            BlurPool(32),
        )
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def build():
    return AntialiasedNet()


def example_inputs():
    return (torch.randn(4, 3, 24, 24),)
