r"""Small network of cheap units that exchange channels between groups.

Source: https://github.com/pytorch/vision/blob/main/torchvision/models/shufflenetv2.py
Odd: A view, a transposition and another view put the channels in another order, on purpose; half
    of the channels pass through a unit unchanged.
"""

import torch
from torch import nn


def channel_shuffle(x, groups):
    batch, channels, height, width = x.shape
    x = x.view(batch, groups, channels // groups, height, width)
    return x.transpose(1, 2).contiguous().view(batch, channels, height, width)


class Unit(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            nn.Conv2d(half, half, 1, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
            nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False),
            nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        kept, changed = x.chunk(2, dim=1)
        return channel_shuffle(torch.cat((kept, self.branch(changed)), dim=1), 2)


def build():
    return nn.Sequential(
        nn.Conv2d(3, 24, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(24),
        nn.ReLU(inplace=True),
        *(Unit(24) for _ in range(4)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(24, 10),
    )


def example_inputs():
    return torch.rand(8, 3, 24, 24)
