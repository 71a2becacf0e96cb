r"""The model `MixerNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = (torch.rand(x.size(0), 1, 1, device=x.device) > self.p).to(x.dtype)
        return x * keep / (1 - self.p)


class MixerNet(nn.Module):
    def __init__(self, features=6, dim=24, depth=3, out=2, p=0.3):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), DropPath(p))
            for _ in range(depth)
        )
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, out))

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = h + block(h)
        return self.out(h.mean(dim=1))


torch.manual_seed(0)
model = MixerNet()
example_inputs = (torch.randn(8, 10, 6),)
