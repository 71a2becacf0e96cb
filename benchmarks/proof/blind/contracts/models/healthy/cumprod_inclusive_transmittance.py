r"""The model `VolumeRenderer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.cumprod.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VolumeRenderer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.sigma = nn.Linear(hidden, 1)
        self.color = nn.Linear(hidden, 3)

    def forward(self, points, step):
        # points: [rays, samples, 3], step: [rays, samples]
        h = self.net(points)
        sigma = F.softplus(self.sigma(h)).squeeze(-1)
        alpha = 1 - torch.exp(-sigma * step)
        trans = torch.cumprod(1 - alpha + 1e-10, dim=1)
        trans = torch.cat([torch.ones_like(trans[:, :1]), trans[:, :-1]], dim=1)
        w = alpha * trans
        rgb = torch.sigmoid(self.color(h))
        return (w.unsqueeze(-1) * rgb).sum(dim=1)


torch.manual_seed(0)
model = VolumeRenderer()
example_inputs = (torch.randn(10, 16, 3), torch.full((10, 16), 0.3),)
