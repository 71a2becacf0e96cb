r"""Nodes on a ring that interact with both neighbours.

Source: https://docs.pytorch.org/docs/stable/generated/torch.roll.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class RingOscillators(nn.Module):
    """Nodes on a ring that interact with both neighbours."""

    def __init__(self, hidden=24, steps=2):
        super().__init__()
        self.rate = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.steps = steps
        self.dt = 0.2

    def forward(self, x):
        # x: [batch, nodes]
        for _ in range(self.steps):
            left = torch.roll(x, 1, dims=1)
            right = torch.roll(x, -1, dims=1)
            f = torch.stack([left, x, right], dim=-1)
            x = x + self.dt * self.rate(f).squeeze(-1)
        return x


torch.manual_seed(0)
model = RingOscillators()
example_inputs = (torch.randn(6, 12),)
