r"""Reads image features at points given as (row, column) in [-1, 1].

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PointFeatures(nn.Module):
    """Reads image features at points given as (row, column) in [-1, 1]."""

    def __init__(self, cin=3, width=16, out=4):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Linear(width + 2, out)

    def forward(self, img, points):
        f = self.conv2(F.relu(self.conv1(img)))
        row, col = points.unbind(dim=-1)
        grid = torch.stack([col, row], dim=-1).unsqueeze(1)
        s = F.grid_sample(f, grid, align_corners=False).squeeze(2).transpose(1, 2)
        return self.head(torch.cat([s, points], dim=-1))


torch.manual_seed(0)
model = PointFeatures()
example_inputs = (torch.randn(4, 3, 20, 32), 2 * torch.rand(4, 10, 2) - 1,)
