r"""The model `WaveDenoiser`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class WaveDenoiser(nn.Module):
    def __init__(self, width=16, kernel=5, depth=4):
        super().__init__()
        self.inp = nn.Conv1d(1, width, kernel, padding=kernel // 2)
        self.blocks = nn.ModuleList(
            nn.Conv1d(width, width, kernel, padding=kernel // 2) for _ in range(depth)
        )
        self.out = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        for conv in self.blocks:
            h = F.gelu(conv(h))
        return self.out(h)


torch.manual_seed(0)
model = WaveDenoiser()
example_inputs = (torch.randn(4, 1, 64),)
