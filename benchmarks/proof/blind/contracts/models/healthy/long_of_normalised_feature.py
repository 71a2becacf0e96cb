r"""Columns: hour of the day in [0, 1), temperature, wind.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.long.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class BikeDemand(nn.Module):
    """Columns: hour of the day in [0, 1), temperature, wind."""

    def __init__(self, hours=24, dim=8, hidden=32):
        super().__init__()
        self.hours = hours
        self.hour = nn.Embedding(hours, dim)
        self.net = nn.Sequential(
            nn.Linear(dim + 2, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        hour = (x[:, 0] * self.hours).long()
        h = self.hour(hour)
        return self.net(torch.cat([h, x[:, 1:]], dim=1)).squeeze(1)


def make_rows(n=32):
    return torch.cat([torch.rand(n, 1), torch.randn(n, 2)], dim=1)


torch.manual_seed(0)
model = BikeDemand()
example_inputs = (make_rows(),)
