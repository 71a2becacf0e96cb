r"""A graph network with an instance norm per graph.

Source: https://github.com/pyg-team/pytorch_geometric/issues/2559
Fault: the deviation is a square root of a variance that is zero for a graph of one node, where the
    gradient is infinite; the epsilon is outside of the root.
Cause: sqrt|square root|variance\b.*\b(zero|0)\b|zero variance|\beps\b|epsilon|(single|one) node
Place: \bstd\b|\bvar\b|norm1
"""

import torch
from torch import nn


def scatter_mean(x, batch, size):
    total = torch.zeros(size, x.size(1)).index_add(0, batch, x)
    count = torch.zeros(size).index_add(0, batch, torch.ones(len(batch)))
    return total / count[:, None]


class GraphInstanceNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x, batch):
        size = int(batch.max()) + 1
        out = x - scatter_mean(x, batch, size)[batch]
        var = scatter_mean(out * out, batch, size)
        std = var.sqrt()[batch] + self.eps  # here
        return out / std * self.weight + self.bias


class GraphNet(nn.Module):
    def __init__(self, features=6, hidden=16):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, hidden)
        self.norm1 = GraphInstanceNorm(hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, x, edge_index, batch):
        source, target = edge_index
        h = self.lin1(x)
        h = h + torch.zeros_like(h).index_add(0, target, h[source])
        h = self.lin2(self.norm1(h, batch).relu())
        return self.readout(scatter_mean(h, batch, int(batch.max()) + 1))


def build():
    return GraphNet()


def example_inputs():
    batch = torch.tensor([0, 0, 0, 0, 1, 2, 2, 2, 3, 3])
    edges = torch.tensor([[0, 1, 2, 3, 5, 6, 8], [1, 2, 3, 0, 6, 7, 9]])
    return torch.randn(10, 6), edges, batch
