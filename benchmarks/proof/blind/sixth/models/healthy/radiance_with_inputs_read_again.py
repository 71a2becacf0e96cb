r"""Radiance field: colour and density at a point in space for a direction of view.

Source: https://github.com/bmild/nerf
Odd: The encoded point enters again in the middle of the network, and the direction only near its
    end; the layer of features between them has no activation.
"""

import torch
import torch.nn.functional as F
from torch import nn


def encode(x, octaves):
    waves = [x]
    for octave in range(octaves):
        waves += [torch.sin(2.0**octave * x), torch.cos(2.0**octave * x)]
    return torch.cat(waves, -1)


class NeRF(nn.Module):
    def __init__(self, depth=6, width=48, skips=(3,), point_octaves=6, view_octaves=3):
        super().__init__()
        self.octaves = point_octaves, view_octaves
        self.skips = skips
        points = 3 * (1 + 2 * point_octaves)
        views = 3 * (1 + 2 * view_octaves)
        self.pts_linears = nn.ModuleList([nn.Linear(points, width)])
        for i in range(depth - 1):
            self.pts_linears.append(nn.Linear(width + (points if i in skips else 0), width))
        self.alpha_linear = nn.Linear(width, 1)
        self.feature_linear = nn.Linear(width, width)
        self.views_linear = nn.Linear(width + views, width // 2)
        self.rgb_linear = nn.Linear(width // 2, 3)

    def forward(self, points, views):
        encoded = encode(points, self.octaves[0])
        h = encoded
        for i, linear in enumerate(self.pts_linears):
            h = F.relu(linear(h))
            if i in self.skips:
                h = torch.cat([encoded, h], -1)
        alpha = self.alpha_linear(h)
        feature = self.feature_linear(h)
        h = F.relu(self.views_linear(torch.cat([feature, encode(views, self.octaves[1])], -1)))
        return torch.cat([self.rgb_linear(h), alpha], -1)


def build():
    return NeRF()


def example_inputs():
    views = F.normalize(torch.randn(64, 3), dim=-1)
    return {"points": torch.rand(64, 3) * 2 - 1, "views": views}
