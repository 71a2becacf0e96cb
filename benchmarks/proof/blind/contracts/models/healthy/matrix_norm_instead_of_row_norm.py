r"""Points on a sphere with a learnt radius.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.norm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SphereEncoder(nn.Module):
    """Points on a sphere with a learnt radius."""

    def __init__(self, n_in=14, hidden=32, dim=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, dim))
        self.radius = nn.Parameter(torch.tensor(2.0))
        self.out = nn.Linear(dim, n_in)

    def forward(self, x):
        z = self.body(x)
        length = torch.linalg.norm(z, ord=2, dim=-1, keepdim=True)
        z = self.radius * z / length.clamp(min=1e-6)
        return self.out(z)


torch.manual_seed(0)
model = SphereEncoder()
example_inputs = (torch.randn(8, 14),)
