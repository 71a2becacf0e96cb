r"""Nodes of a network that changes with time: a recurrent cell moves the weights of the filter.

Source: https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/80
Fault: The moved weights are wrapped in a new Parameter, which cuts them from the cell, and that
    also overwrites the start value for the next call.
Cause: (Parameter\(|nn\.Parameter|new (leaf|parameter)|wrap\w*|re-?creat\w*
    |assign\w*).{0,140}(cut|detach|gradient|graph|leaf|lost|break|\bcell|overwrit|call)
    |(state|weight)s?.{0,80}(between calls|across calls|changed? (in|on|with|at|by) (each|every
    |the) (call|forward)|overwritten|mutat)
    |detach\w*|new (leaf|Parameter)
Place: weight|Parameter|recurrent\w*|conv_layer|evolve|cell
"""

import torch
from torch import nn


class GraphFilter(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.weight)


class EvolveLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.recurrent_layer = nn.GRUCell(dim, dim)
        self.conv_layer = GraphFilter(dim)

    def forward(self, snapshots, adjacency):
        outputs = []
        for x, a in zip(snapshots.unbind(1), adjacency.unbind(1)):
            weight = self.conv_layer.weight
            weight = self.recurrent_layer(weight, weight)
            self.conv_layer.weight = nn.Parameter(weight)  # here
            outputs.append(self.conv_layer(x, a))
        return torch.stack(outputs, dim=1)


class ChangingNetwork(nn.Module):
    def __init__(self, features=8, dim=16):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.evolve = EvolveLayer(dim)
        self.linear = nn.Linear(dim, 1)

    @staticmethod
    def normalise(adjacency):
        a = adjacency + torch.eye(adjacency.shape[-1])
        d = a.sum(-1).rsqrt()
        return d[..., :, None] * a * d[..., None, :]

    def forward(self, snapshots, adjacency):
        h = self.evolve(torch.relu(self.embed(snapshots)), self.normalise(adjacency))
        return self.linear(torch.relu(h)).squeeze(-1)


def build():
    return ChangingNetwork()


def example_inputs():
    a = (torch.rand(4, 5, 10, 10) < 0.2).float().triu(1)
    return torch.randn(4, 5, 10, 8), a + a.transpose(-1, -2)
