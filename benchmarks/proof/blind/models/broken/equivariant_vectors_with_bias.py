"""A gated equivariant block for vector features of atoms.

Source: https://github.com/torchmd/torchmd-net/issues/57
Fault: linear maps of vectors have a bias, which adds a fixed direction and breaks rotation.
Cause: bias|equivarian|rotation
Place: vec1_proj|vec2_proj
"""

import torch
from torch import nn


class GatedEquivariantBlock(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.hidden = hidden
        self.vec1_proj = nn.Linear(hidden, hidden)  # here
        self.vec2_proj = nn.Linear(hidden, hidden)  # here
        self.update_net = nn.Sequential(
            nn.Linear(hidden * 2, hidden), nn.SiLU(), nn.Linear(hidden, hidden * 2)
        )

    def forward(self, x, v):
        vec1 = self.vec1_proj(v).pow(2).sum(dim=1).add(1e-8).sqrt()
        vec2 = self.vec2_proj(v)
        x, gate = self.update_net(torch.cat([x, vec1], dim=-1)).split(self.hidden, dim=-1)
        return x, gate.unsqueeze(1) * vec2


def example_inputs():
    return (
        torch.randn(6, 8),
        torch.randn(6, 3, 8),
    )
