r"""Predicts the displacement (dx, dy) of a buoy in km.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
Fault: The last layer of a regression with signed targets ends in a ReLU, so negative values are
    impossible and units can die.
Cause: relu.*(output|last|final|head|negative|regress|dead|die)
    |(output|head|final|last).*(relu|non-?negative|negative|never below|clipp|dead)|dead|dying
    |(all|always|stuck at|exactly) zero
"""

import torch
import torch.nn as nn


class DriftModel(nn.Module):
    """Predicts the displacement (dx, dy) of a buoy in km."""

    def __init__(self, n_in=9, hidden=32):
        super().__init__()
        self.inp = nn.Linear(n_in, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)
        self.act = nn.ReLU()

    def forward(self, x):
        h = self.act(self.inp(x))
        h = self.act(self.mid(h))
        return self.act(self.out(h))


torch.manual_seed(0)
model = DriftModel()
example_inputs = (torch.randn(16, 9),)
