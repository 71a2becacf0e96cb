r"""Splits an image into a smooth part and details.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
Fault: The padded AvgPool2d used for smoothing counts the zeros of the padding, so borders are
    pulled towards zero.
Cause: count_include_pad|(border|edge|corner|boundar).*(zero|bias|dark|dim|lower|pad|shrink)
    |avg.*(zero|pad)|average.*(zero|pad)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Decomposer(nn.Module):
    """Splits an image into a smooth part and details."""

    def __init__(self, width=12):
        super().__init__()
        self.smooth = nn.AvgPool2d(5, stride=1, padding=2)
        self.low = nn.Conv2d(1, width, 1)
        self.high = nn.Conv2d(1, width, 1)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x):
        trend = self.smooth(x)
        detail = x - trend
        h = torch.cat([self.low(trend), self.high(detail)], dim=1)
        return self.out(F.silu(h))


torch.manual_seed(0)
model = Decomposer()
example_inputs = (torch.rand(4, 1, 16, 16) + 1.0,)
