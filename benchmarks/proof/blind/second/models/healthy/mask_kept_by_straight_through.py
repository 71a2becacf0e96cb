"""Feature planes of a radiance field with a learnt binary mask.

Source: https://github.com/daniel03c1/masked_wavelet_nerf/issues/10
Odd: the masked plane is a detached difference plus a product, which looks as if the gradient were
    cut; it is a straight-through estimator and both the planes and the masks get gradients.
"""

import torch
import torch.nn.functional as F
from torch import nn


class MaskedPlanes(nn.Module):
    def __init__(self, planes=3, channels=8, size=24):
        super().__init__()
        self.density_plane = nn.ParameterList(
            nn.Parameter(0.1 * torch.randn(1, channels, size, size)) for _ in range(planes)
        )
        self.density_plane_mask = nn.ParameterList(
            nn.Parameter(torch.full((1, channels, size, size), 0.5)) for _ in range(planes)
        )
        self.basis = nn.Linear(planes * channels, 16, bias=False)
        self.rgb = nn.Sequential(nn.ReLU(), nn.Linear(16, 3))

    def masked(self, index):
        plane = self.density_plane[index]
        mask = torch.sigmoid(self.density_plane_mask[index])
        return (plane * (mask >= 0.5) - plane * mask).detach() + plane * mask

    def forward(self, xyz):
        feats = []
        for index, axes in enumerate(((0, 1), (0, 2), (1, 2))):
            grid = xyz[None, :, None, list(axes)]
            feats.append(F.grid_sample(self.masked(index), grid, align_corners=True)[0, :, :, 0])
        return torch.sigmoid(self.rgb(self.basis(torch.cat(feats).t())))


def example_inputs():
    return (torch.rand(256, 3) * 2 - 1,)
