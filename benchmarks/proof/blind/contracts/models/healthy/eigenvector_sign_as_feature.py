r"""The model `SpectralNodeModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralNodeModel(nn.Module):
    def __init__(self, features=4, k=3, hidden=24, out=2):
        super().__init__()
        self.k = k
        self.inp = nn.Linear(features + k, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, out)

    def positions(self, adj):
        deg = torch.diag_embed(adj.sum(dim=-1))
        _, vec = torch.linalg.eigh(deg - adj)
        vec = vec[..., 1:self.k + 1]
        return vec.abs()

    def forward(self, x, adj):
        h = torch.cat([x, self.positions(adj)], dim=-1)
        h = F.relu(self.inp(h))
        h = F.relu(self.mid(adj @ h / adj.sum(dim=-1, keepdim=True)))
        return self.out(h)


def make_graphs(n=4, nodes=9):
    a = (torch.rand(n, nodes, nodes) > 0.6).float()
    a = torch.maximum(a, a.transpose(1, 2))
    return torch.maximum(a, torch.eye(nodes))


torch.manual_seed(0)
model = SpectralNodeModel()
example_inputs = (torch.randn(4, 9, 4), make_graphs(),)
