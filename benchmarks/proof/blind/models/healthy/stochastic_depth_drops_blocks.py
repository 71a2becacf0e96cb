"""A conformer-like encoder with layer drop.

Source: https://github.com/pytorch/pytorch/issues/90171
    https://github.com/espnet/espnet/pull/4142
Odd: on a given step some blocks are skipped and have no gradient; over steps all train.
"""

import torch
from torch import nn


class LayerDropEncoder(nn.Module):
    def __init__(self, dim=16, depth=4, drop=0.4):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, dim))
            for _ in range(depth)
        )
        self.out = nn.Linear(dim, 5)
        self.drop = drop

    def forward(self, x):
        for layer in self.layers:
            if self.training and torch.rand(1).item() < self.drop:
                continue
            x = x + layer(x)
        return self.out(x)


def example_inputs():
    return (torch.randn(4, 6, 16),)
