"""Segments images with a U-Net."""

import torch
from torch import nn


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.GroupNorm(4, outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.GroupNorm(4, outputs),
        nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self, channels=3, classes=4, width=8):
        super().__init__()
        self.enc1 = block(channels, width)
        self.enc2 = block(width, 2 * width)
        self.bottleneck = block(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.dec2 = block(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec1 = block(2 * width, width)
        self.pool = nn.MaxPool2d(2)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skip1 = self.enc1(x)
        skip2 = self.enc2(self.pool(skip1))
        deep = self.bottleneck(self.pool(skip2))
        y = self.dec2(torch.cat([self.up2(deep), skip2], dim=1))
        y = self.dec1(torch.cat([self.up1(y), skip1], dim=1))
        return self.out(y)


def example_inputs():
    return (torch.randn(4, 3, 32, 32),)
