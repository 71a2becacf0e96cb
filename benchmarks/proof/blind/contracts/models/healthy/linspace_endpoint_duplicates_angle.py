r"""The model `OrientationBank`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linspace.html
Healthy: the right twin of the broken case of this name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class OrientationBank(nn.Module):
    def __init__(self, n=8, width=12, classes=4):
        super().__init__()
        angle = torch.linspace(0, 2 * math.pi, n + 1)[:-1]
        cos, sin, zero = angle.cos(), angle.sin(), torch.zeros(n)
        theta = torch.stack([cos, -sin, zero, sin, cos, zero], dim=1).view(n, 2, 3)
        self.register_buffer("theta", theta)
        self.conv = nn.Conv2d(1, width, 5)
        self.head = nn.Linear(width, classes)

    def rotate(self, x, theta):
        grid = F.affine_grid(theta.expand(x.size(0), 2, 3), list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        views = [F.relu(self.conv(self.rotate(x, t))).mean(dim=(2, 3)) for t in self.theta]
        return self.head(torch.stack(views).mean(dim=0))


torch.manual_seed(0)
model = OrientationBank()
example_inputs = (torch.randn(4, 1, 20, 20),)
