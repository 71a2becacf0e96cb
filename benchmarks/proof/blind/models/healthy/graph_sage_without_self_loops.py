"""GraphSAGE layers that keep a node apart from the mean of its neighbours.

Source: https://github.com/Zhongdao/gcn_clustering/issues/6
Odd: there are no self loops and isolated nodes have degree zero; clamp handles them.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SageNet(nn.Module):
    def __init__(self, dim=8, hidden=16, classes=3):
        super().__init__()
        self.lin1 = nn.Linear(2 * dim, hidden)
        self.lin2 = nn.Linear(2 * hidden, classes)

    def forward(self, x, adj):
        mean = adj / adj.sum(1, keepdim=True).clamp(min=1)
        h = F.relu(self.lin1(torch.cat([x, mean @ x], dim=1)))
        return self.lin2(torch.cat([h, mean @ h], dim=1))


def example_inputs():
    return (
        torch.randn(6, 8),
        torch.block_diag(torch.ones(4, 4) - torch.eye(4), torch.zeros(2, 2)),
    )
