r"""The model `ContextModule`.

Source: https://arxiv.org/abs/1702.08502
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContextModule(nn.Module):
    def __init__(self, cin=3, width=12, dilations=(1, 2, 3)):
        super().__init__()
        channels = [cin] + [width] * len(dilations)
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=d, dilation=d)
            for a, b, d in zip(channels[:-1], channels[1:], dilations)
        )
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        for conv in self.convs:
            x = F.elu(conv(x))
        return self.out(x)


torch.manual_seed(0)
model = ContextModule()
example_inputs = (torch.randn(2, 3, 20, 20),)
