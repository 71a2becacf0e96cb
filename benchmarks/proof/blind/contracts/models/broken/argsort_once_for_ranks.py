r"""Adds to every entry its relative position within the list.

Source: https://docs.pytorch.org/docs/stable/generated/torch.argsort.html
Fault: argsort gives the sorting order, not the ranks; ranks need argsort of argsort.
Cause: argsort|\branks?\b|(twice|inverse|second|double) .*(sort|permut)|inverse permutation
"""

import torch
import torch.nn as nn


class RankFeatures(nn.Module):
    """Adds to every entry its relative position within the list."""

    def __init__(self, items=12, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.out = nn.Linear(hidden, 1)

    def ranks(self, x):
        r = x.argsort(dim=1)
        return r.to(x.dtype) / (x.size(1) - 1)

    def forward(self, x):
        f = torch.stack([x, self.ranks(x)], dim=-1)
        h = self.net(f).mean(dim=1)
        return self.out(torch.relu(h)).squeeze(-1)


torch.manual_seed(0)
model = RankFeatures()
example_inputs = (torch.randn(8, 12),)
