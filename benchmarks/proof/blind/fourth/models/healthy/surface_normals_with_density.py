r"""Surface normals with a concentration at each pixel, and the negative log density as loss.

Source: https://github.com/baegwangbin/surface_normal_uncertainty/issues/7
Odd: The loss can be negative, since a density can be larger than 1.
"""

import torch
import torch.nn.functional as F
from torch import nn


class NormalNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
        )
        self.out = nn.Conv2d(width, 4, 1)

    def forward(self, image, normal):
        mean, kappa = self.out(self.body(image)).split([3, 1], 1)
        mean, kappa = F.normalize(mean, dim=1), F.elu(kappa).squeeze(1) + 1.01
        angle = torch.acos((mean * normal).sum(1).clamp(-0.9999, 0.9999))
        rest = torch.log((1 + torch.exp(-kappa * torch.pi)) / (kappa.square() + 1))
        return (kappa * angle + rest).mean()


def build():
    return NormalNet()


def example_inputs():
    return torch.randn(4, 3, 12, 12), F.normalize(torch.randn(4, 3, 12, 12), dim=1)
