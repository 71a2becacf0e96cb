r"""Classifier of photographs which come as height, width and colours.

Source: https://discuss.pytorch.org/t/for-beginners-do-not-use-view-or-reshape-to-swap-dimensions-of-tensors/75524
Fault: A view in place of a permutation puts the colours and pixels of a photograph in disorder.
Cause: \bview\b|reshape|permute|transpose|scrambl|(mix|disorder|shuffl|interleav)\w*
    |(channel|colou?r|pixel|axis|axes|dimension)s?.{0,60}(order|mix|swap|scrambl)
Place: \bview\b
"""

import torch
from torch import nn


class PhotoNet(nn.Module):
    def __init__(self, classes=8, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classes = nn.Linear(2 * width, classes)

    def forward(self, photos):
        batch, height, width, colours = photos.shape
        x = photos.view(batch, colours, height, width)  # here
        return self.classes(self.body(x).flatten(1))


def build():
    return PhotoNet()


def example_inputs():
    tint = torch.tensor([0.8, 0.5, 0.2])
    ramp = torch.linspace(0, 1, 24)[None, :, None, None]
    return (0.6 * ramp + 0.2 * torch.rand(6, 24, 32, 3)) * tint
