r"""The model `NextFrame`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class CausalMixer(nn.Module):
    def __init__(self, steps=16, dim=24):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h, _ = self.rnn(self.norm(x))
        return x + self.mlp(h)


class NextFrame(nn.Module):
    def __init__(self, features=10, dim=24):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.mixer = CausalMixer(16, dim)
        self.out = nn.Linear(dim, features)

    def forward(self, x):
        return self.out(self.mixer(self.inp(x)))


torch.manual_seed(0)
model = NextFrame()
example_inputs = (torch.randn(4, 16, 10),)
