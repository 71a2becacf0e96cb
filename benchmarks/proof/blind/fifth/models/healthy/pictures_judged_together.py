r"""Critic of generated pictures that sees how much the pictures of a group differ.

Source: https://github.com/tkarras/progressive_growing_of_gans
Odd: The judgement of a picture depends on the other pictures of its group, which is wanted.
"""

import torch
from torch import nn


class MinibatchStdDev(nn.Module):
    def __init__(self, group_size=4):
        super().__init__()
        self.group_size = group_size

    def forward(self, x):
        n, c, h, w = x.shape
        group = min(self.group_size, n)
        y = x.view(group, -1, c, h, w)
        y = (y - y.mean(dim=0, keepdim=True)).square().mean(dim=0).add(1e-8).sqrt()
        y = y.mean(dim=(1, 2, 3), keepdim=True)
        return torch.cat([x, y.repeat(group, 1, h, w)], dim=1)


class Critic(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.from_rgb = nn.Conv2d(3, width, 1)
        self.blocks = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.AvgPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.AvgPool2d(2),
        )
        self.stddev = MinibatchStdDev()
        self.last = nn.Sequential(
            nn.Conv2d(2 * width + 1, 2 * width, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(2 * width * 16, 1),
        )

    def forward(self, images):
        return self.last(self.stddev(self.blocks(self.from_rgb(images))))


def build():
    return Critic()


def example_inputs():
    return torch.randn(8, 3, 16, 16)
