r"""Mean angle of every frame to all frames of the clip.

Source: https://github.com/pytorch/pytorch/issues/8069
Fault: acos of a cosine without a margin has an infinite derivative at +-1, so identical vectors
    give NaN gradients.
Cause: acos|arccos|nan|infinit|clamp|\binf\b|derivative
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AngularPooling(nn.Module):
    """Mean angle of every frame to all frames of the clip."""

    def __init__(self, features=6, dim=12, out=3):
        super().__init__()
        self.proj = nn.Linear(features, dim)
        self.out = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, out))

    def forward(self, x):
        h = F.normalize(self.proj(x), dim=-1)
        cos = torch.einsum("bid,bjd->bij", h, h)
        cos = cos.clamp(-1.0, 1.0)
        angle = torch.acos(cos).mean(dim=2, keepdim=True)
        return self.out(angle).mean(dim=1)


torch.manual_seed(0)
model = AngularPooling()
example_inputs = (torch.randn(5, 8, 6),)
