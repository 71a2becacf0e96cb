r"""A style encoder that pools to one vector for each image and normalises it.

Source: https://github.com/pytorch/pytorch/issues/19250
Fault: a group has one value on the 1x1 map, so the norm gives the same output for every image.
Cause: (one|single|1) (value|element|number)|group.*(one|single|1\b)|1x1|constant|removes
Place: norm|to_style
"""

import torch
from torch import nn


class StyleEncoder(nn.Module):
    def __init__(self, width=8, style_dim=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.norm = nn.GroupNorm(2 * width, 2 * width)  # here
        self.to_style = nn.Conv2d(2 * width, style_dim, 1)

    def forward(self, image):
        return self.to_style(self.norm(self.features(image))).flatten(1)


def example_inputs():
    return (torch.randn(4, 3, 16, 16),)
