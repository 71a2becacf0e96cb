"""Keypoints from heat maps, refined by a small network.

Source: https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
Fault: the coordinates are taken with argmax, so the heat map network gets no gradient.
Cause: argmax|differentiab
Place: heatmap|backbone
"""

import torch
from torch import nn


class KeypointRefiner(nn.Module):
    def __init__(self, n_points=4, size=12):
        super().__init__()
        self.size = size
        self.heatmap_net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, n_points, 1)
        )
        self.refine = nn.Sequential(nn.Linear(2 * n_points, 16), nn.ReLU(), nn.Linear(16, 6))

    def forward(self, image):
        maps = self.heatmap_net(image).flatten(2)
        index = torch.argmax(maps, dim=-1)  # here
        x = (index % self.size).float() / (self.size - 1)
        y = (index // self.size).float() / (self.size - 1)
        return self.refine(torch.cat([x, y], dim=1) * 2 - 1)


def example_inputs():
    return (torch.randn(4, 3, 12, 12),)
