"""A global context block that starts as identity.

Source: https://github.com/yzd-v/FGD/issues/45
Odd: the last convolution of the context branch is zero, so all before it waits one step.
"""

import torch
from torch import nn


class ContextBlock(nn.Module):
    def __init__(self, planes=8, ratio=2, classes=3):
        super().__init__()
        self.conv_mask = nn.Conv2d(planes, 1, 1)
        self.channel_add = nn.Sequential(
            nn.Conv2d(planes, planes // ratio, 1),
            nn.LayerNorm([planes // ratio, 1, 1]),
            nn.ReLU(inplace=True),
            nn.Conv2d(planes // ratio, planes, 1),
        )
        nn.init.zeros_(self.channel_add[-1].weight)
        nn.init.zeros_(self.channel_add[-1].bias)
        self.head = nn.Conv2d(planes, classes, 1)

    def forward(self, x):
        mask = self.conv_mask(x).flatten(2).softmax(dim=2)
        context = (x.flatten(2) * mask).sum(2)[..., None, None]
        return self.head(x + self.channel_add(context))


def example_inputs():
    return (torch.randn(4, 8, 6, 6),)
