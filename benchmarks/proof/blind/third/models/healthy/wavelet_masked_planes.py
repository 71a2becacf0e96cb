r"""Radiance grid whose planes are masked by learned binary gates.

Source: https://github.com/daniel03c1/masked_wavelet_nerf/issues/10
Odd: The hard gate is applied through a detached difference: a straight-through estimator, by which
    both the planes and the mask logits get gradients.
"""

import torch
from torch import nn


class MaskedPlanes(nn.Module):
    def __init__(self, channels=8, size=12):
        super().__init__()
        self.plane = nn.Parameter(torch.randn(channels, size, size) * 0.1)
        self.mask = nn.Parameter(torch.randn(channels, size, size))
        self.rgb = nn.Linear(channels, 3)

    def forward(self, points):
        gate = torch.sigmoid(self.mask)
        soft = self.plane * gate
        plane = (self.plane * (gate >= 0.5) - soft).detach() + soft
        grid = points[None, :, None]
        sampled = nn.functional.grid_sample(plane[None], grid, align_corners=True)
        return torch.sigmoid(self.rgb(sampled[0, :, :, 0].t()))


def build():
    return MaskedPlanes()


def example_inputs():
    return torch.rand(200, 2) * 2 - 1
