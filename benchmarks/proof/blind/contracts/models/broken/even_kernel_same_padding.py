r"""The model `WaveDenoiser`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html
Fault: An even kernel with padding=kernel//2 makes each layer's output one step longer and shifts
    it by half a step.
Cause: even[- ](sized )?kernel|kernel.*\beven\b
    |(length|size|output).*(grow|longer|one (more|extra)|\+ ?1|change|not preserved|shift)
    |padding.*same|off[- ]by[- ]one
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class WaveDenoiser(nn.Module):
    def __init__(self, width=16, kernel=4, depth=4):
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
