r"""The model `PatchDenoiser`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Fold.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PatchDenoiser(nn.Module):
    def __init__(self, patch=4, stride=2, hidden=32):
        super().__init__()
        self.patch, self.stride = patch, stride
        self.net = nn.Sequential(
            nn.Linear(patch * patch, hidden), nn.GELU(), nn.Linear(hidden, patch * patch)
        )

    def fold(self, p, size):
        return F.fold(p, size, self.patch, stride=self.stride)

    def forward(self, x):
        size = x.shape[-2:]
        p = F.unfold(x, self.patch, stride=self.stride)
        q = self.net(p.transpose(1, 2)).transpose(1, 2)
        count = self.fold(torch.ones_like(q), size)
        return self.fold(q, size) / count


torch.manual_seed(0)
model = PatchDenoiser()
example_inputs = (torch.randn(4, 1, 16, 16),)
