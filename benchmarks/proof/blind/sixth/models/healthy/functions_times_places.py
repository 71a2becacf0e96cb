r"""Operator network: the value, at some place, of the function which belongs to another function.

Source: https://github.com/lululxvi/deepxde
Odd: Two networks meet only in an inner product with one number for a bias; the trunk ends with an
    activation and the branch does not.
"""

import torch
from torch import nn


class DeepONet(nn.Module):
    def __init__(self, sensors=30, places=1, width=40):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(sensors, width), nn.ReLU(), nn.Linear(width, width))
        self.trunk = nn.Sequential(
            nn.Linear(places, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.b = nn.Parameter(torch.tensor(0.0))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, functions, places):
        """Return the values for each function (rows) at each place (columns)."""
        return torch.einsum("fi,pi->fp", self.branch(functions), self.trunk(places)) + self.b


def build():
    return DeepONet()


def example_inputs():
    grid = torch.linspace(0, 1, 30)
    phase = 6 * torch.rand(16, 1)
    return torch.sin(3 * grid + phase), torch.rand(25, 1)
