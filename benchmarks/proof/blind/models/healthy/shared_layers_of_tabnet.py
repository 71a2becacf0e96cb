"""Feature transformers of TabNet that share linear layers and not the batch norms.

Source: https://github.com/dreamquark-ai/tabnet/pull/76
Odd: the same linear object is in several modules, with a norm of its own in each.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class FeatTransformer(nn.Module):
    def __init__(self, shared, dim):
        super().__init__()
        self.shared = shared
        self.bn = nn.BatchNorm1d(2 * dim)
        self.own = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        h = F.glu(self.bn(self.shared(x)))
        return (h + F.glu(self.own(h))) * math.sqrt(0.5)


class TabNetLite(nn.Module):
    def __init__(self, in_dim=10, dim=8, steps=3):
        super().__init__()
        shared = nn.Linear(in_dim, 2 * dim, bias=False)
        self.steps = nn.ModuleList(FeatTransformer(shared, dim) for _ in range(steps))
        self.final = nn.Linear(dim, 2)

    def forward(self, x):
        return self.final(sum(F.relu(step(x)) for step in self.steps))


def build():
    return TabNetLite()


def example_inputs():
    return (torch.randn(32, 10),)
