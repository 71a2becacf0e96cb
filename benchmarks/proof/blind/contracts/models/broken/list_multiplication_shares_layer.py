r"""The model `DeepMLP`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
Fault: [block] * n puts the same module n times into the list, so the "layers" share their
    weights.
Cause: shar\w*.*(weight|parameter|layer|module|instance|block)
    |(same|one|identical) (module|layer|instance|object|block|weight)|weights? .*(shared|tied)
    |reus\w*
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class DeepMLP(nn.Module):
    def __init__(self, n_in=12, dim=32, depth=4, n_out=3):
        super().__init__()
        self.inp = nn.Linear(n_in, dim)
        self.blocks = nn.Sequential(*[Residual(dim)] * depth)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, n_out)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.inp(x))))


torch.manual_seed(0)
model = DeepMLP()
example_inputs = (torch.randn(8, 12),)
