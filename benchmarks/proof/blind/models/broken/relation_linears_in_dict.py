"""A relational graph layer with one linear map for each type of edge.

Source: https://github.com/pytorch/pytorch/issues/632
Fault: the maps of the relations are in a plain dict, so no optimiser ever sees them.
Cause: ModuleDict|not registered|unregistered|(plain|python) dict|not (in|part of).*parameters
Place: list_relations|relations
"""

import torch
import torch.nn.functional as F
from torch import nn


class RelationalGraphNet(nn.Module):
    def __init__(self, numfeatures=8, hidden=16, num_rel=3):
        super().__init__()
        self.num_rel = num_rel
        self.list_relations = {}  # here
        for rel in range(num_rel):
            self.list_relations[rel] = nn.Linear(numfeatures, hidden)
        self.self_loop = nn.Linear(numfeatures, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, adj):
        h = self.self_loop(x)
        for rel in range(self.num_rel):
            degree = adj[rel].sum(1, keepdim=True).clamp(min=1)
            h = h + adj[rel] @ self.list_relations[rel](x) / degree
        return self.out(F.relu(h))


def example_inputs():
    return (
        torch.randn(10, 8),
        (torch.rand(3, 10, 10) > 0.6).float(),
    )
