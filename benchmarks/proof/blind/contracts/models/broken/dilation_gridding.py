r"""The model `ContextModule`.

Source: https://arxiv.org/abs/1702.08502
Fault: All layers have the same dilation, so an output only sees every second pixel (gridding) and
    neighbouring outputs share nothing.
Cause: gridding|dilat|(pixel|input|position)s?.*(skip|never|not seen|ignored|missed|hole)|hole
    |checker
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContextModule(nn.Module):
    def __init__(self, cin=3, width=12, dilations=(2, 2, 2)):
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
