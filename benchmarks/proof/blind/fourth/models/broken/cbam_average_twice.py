r"""Channel and spatial attention on convolutional features.

Source: https://github.com/nikhilroxtomar/Attention-Mechanism-Implementation/issues/1
Fault: The average branch is added to itself; that of the maximum is computed and not used.
Cause: max_pool\w*.*(unused|not used|never|no effect|no influence|discard|ignored)
    |(unused|discard|ignor)\w* .*max|(added|adds|plus) .*itself|twice
Place: max_pool
"""

import torch
from torch import nn


class ChannelAttention(nn.Module):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.max_pool = nn.AdaptiveMaxPool2d(1)
        self.mlp = nn.Sequential(
            nn.Linear(channels, channels // ratio, bias=False),
            nn.ReLU(),
            nn.Linear(channels // ratio, channels, bias=False),
        )

    def forward(self, x):
        x1 = self.mlp(self.avg_pool(x).flatten(1))
        x2 = self.mlp(self.max_pool(x).flatten(1))  # noqa: F841
        feats = x1 + x1  # here
        return x * torch.sigmoid(feats)[:, :, None, None]


class SpatialAttention(nn.Module):
    def __init__(self, kernel_size=7):
        super().__init__()
        self.conv = nn.Conv2d(2, 1, kernel_size, padding=3, bias=False)

    def forward(self, x):
        feats = torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)
        return x * torch.sigmoid(self.conv(feats))


def build():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        ChannelAttention(16),
        SpatialAttention(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )


def example_inputs():
    return torch.randn(6, 3, 14, 14)
